"""Whole episodes of one policy: the same seeds give every policy the same episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Observation = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]
"""Which actions may be taken; one for each."""
DEVELOPMENT_SEED = 1_000_000
"""Episodes that choose among policies begin here; training draws its own from below."""
TEST_SEED = 2_000_000
"""Episodes that nothing was chosen by begin here."""


class Policy(Protocol):
    """Chooses an action; the same observation and mask give the same action."""

    def choose(self, observation: Observation, mask: Mask | None) -> Any:
        """Return an action of the environment; `mask` is None where the environment has none."""
        ...


@dataclass(frozen=True, slots=True)
class Episode:
    """What came of one episode."""

    seed: int
    total: float
    """Sum of its rewards."""
    length: int
    """Steps."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Numbers that the environment gave with its last step, such as completed jobs."""


def play(
    policy: Policy, make: Callable[[], Any], seeds: Sequence[int], *, masked: bool = True
) -> Iterator[Episode]:
    """Yield an episode for each seed.

    Args:
        policy: chooses.
        make: returns a Gymnasium environment.
        seeds: one for each episode.
        masked: whether the policy is told which actions may be taken.
    """
    environment = make()
    try:
        for seed in seeds:
            yield _episode(policy, environment, seed, masked)
    finally:
        environment.close()


def mask_of(environment: Any) -> Mask | None:
    """Return which actions may be taken now; None where the environment does not say."""
    if not environment.has_wrapper_attr("action_masks"):
        return None
    return np.asarray(environment.get_wrapper_attr("action_masks")(), dtype=np.bool_)


def _episode(policy: Policy, environment: Any, seed: int, masked: bool) -> Episode:
    observation, info = environment.reset(seed=seed)
    total, length, over = 0.0, 0, False
    while not over:
        action = policy.choose(observation, mask_of(environment) if masked else None)
        observation, reward, terminated, truncated, info = environment.step(action)
        total += float(reward)
        length += 1
        over = terminated or truncated
    return Episode(seed, total, length, _numbers(info.get("metrics", {})))


def _numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in sorted(metrics.items())
        if isinstance(value, int | float | np.integer | np.floating)
    }
