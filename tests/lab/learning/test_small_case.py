"""The small case's optimum is what no choice of actions exceeds, and no simple rule reaches it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lab.learning.baselines.play import play
from lab.learning.baselines.rules import rule_names, rule_of
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.jobs import JobStream
from lab.learning.simulator import Cluster
from lab.learning.small_case import best_return, small_stream


def _best_by_trying(stream: JobStream) -> float:
    """Return the largest return over all sequences of allowed actions, each played in the environment itself."""
    env = KueueAdmissionEnv("score", lambda _: stream, slots=len(stream.jobs), reward="slowdown")

    def explore(actions: tuple[int, ...]) -> float:
        env.reset(seed=0)
        total, over = 0.0, False
        for action in actions:
            _, reward, over, _, _ = env.step(action)
            total += float(reward)
        if over:
            return total
        allowed = np.flatnonzero(env.action_masks()).tolist()
        return max(explore((*actions, action)) for action in allowed)

    return explore(())


@pytest.mark.parametrize("left_out", [range(4), range(1, 5), range(4, 8)])
def test_dynamic_programming_finds_what_trying_everything_finds(left_out: range) -> None:
    """On four of the eight jobs, with the environment's own rewards."""
    stream = small_stream()
    part = replace(
        stream, jobs=tuple(job for n, job in enumerate(stream.jobs) if n not in left_out)
    )
    assert best_return(part) == pytest.approx(_best_by_trying(part))


def test_no_simple_rule_reaches_the_optimum() -> None:
    """The best of all rules pays a fifth more."""
    stream = small_stream()
    best = -best_return(stream)
    paid = {
        name: len(stream.jobs) * (play(Cluster(stream), rule_of(name)).mean_bounded_slowdown - 1)
        for name in rule_names()
    }
    assert 1.2 * best < min(paid.values()) < 1.3 * best
