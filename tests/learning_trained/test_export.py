"""An exported policy acts as its framework does, without it, from one small file."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from inputs.clock import SystemClock
from lab.learning.export.agreement import agreement, framework_scores, met_states
from lab.learning.export.export import export_run, write_policy
from lab.learning.training import learners
from lab.learning.training.environments import make_environment
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import recipe
from lab.learning.training.run import BEST, train
from services.learned_policy.file import read_policy
from services.learned_policy.network import ONE, Layer

SHORT = Plan("CartPole-v1", replace(recipe("reference", "PPO", 4), steps=512), seed=1)
ALGORITHMS = ("A2C", "DQN", "PPO", "SAC", "TD3")


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_acts_as_its_framework(tmp_path: Path, algorithm: str) -> None:
    """Outside near-ties every action is the framework's, of each algorithm, after a short training."""
    environment = "Pendulum-v1" if algorithm in ("SAC", "TD3") else "CartPole-v1"
    short = replace(recipe("reference", algorithm, 4), steps=600)
    plan = Plan(environment, short, seed=1, evaluate_every=300, development_episodes=1)
    train(plan, tmp_path / "seed-1", SystemClock(), lambda share: None)
    policy = export_run(tmp_path / "seed-1", "short", states=3_000)
    assert policy.card.agreement is not None
    assert policy.card.agreement.states == 3_000
    assert policy.card.agreement.differing_elsewhere == 0
    assert policy.card.agreement.near_ties < 300
    assert policy.card.agreement.largest_error < policy.card.agreement.margin


def test_other_weights_do_not_agree(tmp_path: Path) -> None:
    """The comparison notices a network that is not the framework's."""
    plan = replace(SHORT, evaluate_every=512)
    train(plan, tmp_path / "seed-1", SystemClock(), lambda share: None)
    policy = export_run(tmp_path / "seed-1", "short", states=500)
    last = policy.network.layers[-1]
    turned = Layer(last.weights[::-1].copy(), last.bias, last.activation)
    wrong = replace(policy, network=replace(policy.network, layers=(*policy.network.layers[:-1], turned)))  # fmt: skip
    learner = learners.load("PPO", tmp_path / "seed-1" / BEST)
    states, masks = met_states(policy, lambda: make_environment("CartPole-v1", {}), 500, 1)
    assert agreement(wrong, "PPO", learner, states, masks).differing_elsewhere > 100


def test_normalised_observations_are_exported(tmp_path: Path) -> None:
    """Mean and deviation of the observations travel in the file, and the scores are the framework's."""
    plan = Plan(
        "CartPole-v1", replace(recipe("reference", "PPO", 4), steps=1_024), seed=1, evaluate_every=512,
        development_episodes=1, normalise=True,
    )  # fmt: skip
    train(plan, tmp_path / "seed-1", SystemClock(), lambda share: None)
    policy = export_run(tmp_path / "seed-1", "normal", states=500)
    write_policy(policy, tmp_path / "normal.policy")
    again = read_policy(tmp_path / "normal.policy")
    state = np.array([0.1, -0.2, 0.05, 0.3], dtype=np.float32)
    assert again.network.centre is not None
    assert again.choose(state) == policy.choose(state)
    seen = (state - again.network.centre) * again.network.per_deviation
    learner = learners.load("PPO", tmp_path / "seed-1" / BEST)
    theirs = framework_scores("PPO", learner, seen[None])[0]
    np.testing.assert_allclose(again.network.scores(state) / ONE, theirs, atol=1e-4)


def test_the_file_is_read_without_any_learning_library(tmp_path: Path) -> None:
    """Reading and choosing import neither torch nor Stable-Baselines3 nor Gymnasium."""
    plan = replace(SHORT, evaluate_every=512)
    train(plan, tmp_path / "seed-1", SystemClock(), lambda share: None)
    write_policy(export_run(tmp_path / "seed-1", "short", states=200), tmp_path / "short.policy")
    program = (
        "import sys, pathlib, numpy; from services.learned_policy.file import read_policy;"
        f"policy = read_policy(pathlib.Path({str(tmp_path / 'short.policy')!r}));"
        "print(policy.choose(numpy.zeros(4)).action);"
        "sys.exit(any(name in sys.modules for name in ('torch', 'stable_baselines3', 'gymnasium')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
