"""The way of training is right: on environments whose results others have published, it comes to the same."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from inputs.clock import SystemClock
from lab.learning.comparison.reference import TOLERANCES, cost_over_optimum, small_case_plan
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import recipe
from lab.learning.training.run import read_curve, train

SOLVED = 475.0
"""Gymnasium's own threshold of CartPole-v1."""


def test_ppo_solves_cart_pole(tmp_path: Path) -> None:
    """PPO reaches 475 of 500 on CartPole-v1 over 20 episodes, in a third of the published steps."""
    plan = Plan(
        "CartPole-v1", recipe("reference", "PPO", 4), seed=0, evaluate_every=10_000, patience=3
    )
    outcome = train(plan, tmp_path / "run", SystemClock(), lambda share: None)
    assert outcome.best_return >= SOLVED
    assert outcome.best_steps <= 40_000
    evaluations = read_curve(tmp_path / "run")
    assert fmean(evaluations[0].returns) < SOLVED, (
        "nothing was learnt: it could do it from the start"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "published"), [("SAC", -157.0), ("TD3", -151.9)])
def test_actors_swing_the_pendulum_up(tmp_path: Path, algorithm: str, published: float) -> None:
    """SAC and TD3 come to the level that RL Baselines3 Zoo publishes for Pendulum-v1, within its spread.

    The published means are of 750 episodes whose deviation is about 90, so the mean of our 40 episodes is within
    two and a half standard errors of them if nothing is wrong.
    """
    plan = Plan(
        "Pendulum-v1", recipe("reference", algorithm, 3), seed=0, evaluate_every=10_000, development_episodes=40
    )  # fmt: skip
    outcome = train(plan, tmp_path / "run", SystemClock(), lambda share: None)
    assert outcome.best_return >= published - 2.5 * 90.0 / 40**0.5


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", sorted(TOLERANCES))
def test_learners_come_near_the_known_optimum(tmp_path: Path, algorithm: str) -> None:
    """On the small case of admission; its best simple rule costs a fifth more than the optimum."""
    plan = small_case_plan(algorithm, seed=0)
    train(plan, tmp_path / "run" / "seed-0", SystemClock(), lambda share: None)
    assert cost_over_optimum(tmp_path / "run") <= TOLERANCES[algorithm]
