"""The three agents' world for learners that know one policy: it sees what all see and acts for all three.

Its reward is the sum of the agents' rewards, each times its weight, and so is that of the agents' own rules, which
`rules_total` plays in the same worlds: both are on one scale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import MultiDiscrete

from lab.learning.environments.agents import AgentsEnv

Observation = npt.NDArray[np.float32]
Infos = dict[str, Any]


class OnePolicyEnv(gymnasium.Env[Observation, npt.NDArray[np.int64]]):
    """An `AgentsEnv` that pays each agent its own reward, played by one policy."""

    metadata = {"render_modes": []}

    def __init__(self, agents: AgentsEnv, weights: Mapping[str, float]) -> None:
        """Weigh the reward of each agent (A, B, C)."""
        self._agents, self._weights = agents, dict(weights)
        self._names = tuple(agents.possible_agents)
        seen: Any = agents.observation_space(self._names[0])
        self.observation_space = seen
        self.action_space = MultiDiscrete([agents.action_space(name).n for name in self._names])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Infos]:
        """Begin an episode in a new world."""
        super().reset(seed=seed)
        seen, _ = self._agents.reset(seed=seed, options=options)
        return seen[self._names[0]], {}

    def step(
        self, action: Sequence[int] | npt.NDArray[np.int64] | None
    ) -> tuple[Observation, SupportsFloat, bool, bool, Infos]:
        """Act for all three; None: by their own rules."""
        told = {} if action is None else dict(zip(self._names, map(int, action), strict=True))
        seen, rewards, terminated, truncated, _ = self._agents.step(told)
        first = self._names[0]
        reward = sum(self._weights[name] * paid for name, paid in rewards.items())
        return seen[first], reward, terminated[first], truncated[first], {}

    def close(self) -> None:
        """End the world."""
        self._agents.close()


def rules_total(make: Callable[[], OnePolicyEnv], seeds: Sequence[int]) -> float:
    """Return the mean over episodes of these seeds of what the agents' own rules are paid."""
    environment = make()
    totals = []
    try:
        for seed in seeds:
            environment.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                _, reward, terminated, truncated, _ = environment.step(None)
                total += float(reward)
                over = terminated or truncated
            totals.append(total)
    finally:
        environment.close()
    return fmean(totals)
