"""Runs can be stopped and gone on with, end early, and are what their plan says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.errors import InputError
from inputs.clock import SystemClock
from lab.learning.training import run as running
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import recipe, with_values
from lab.learning.training.run import Outcome, read_curve, train

CART_POLE = Plan(
    "CartPole-v1",
    replace(recipe("reference", "PPO", 4), steps=2_048),
    seed=3,
    evaluate_every=512,
    development_episodes=3,
    checkpoint_every=512,
)


def _train(plan: Plan, folder: Path) -> Outcome:
    return train(plan, folder, SystemClock(), lambda share: None)


def test_equal_seeds_give_equal_curves(tmp_path: Path) -> None:
    """Two runs of one plan have the same returns at the same steps; another seed has others."""
    _train(CART_POLE, tmp_path / "first")
    _train(CART_POLE, tmp_path / "second")
    _train(replace(CART_POLE, seed=4), tmp_path / "other")
    first, second, other = (
        [(evaluation.steps, evaluation.returns) for evaluation in read_curve(tmp_path / name)]
        for name in ("first", "second", "other")
    )
    assert first == second
    assert first != other


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_a_stopped_run_goes_on(
    tmp_path: Path, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run killed after its first checkpoints ends at its full steps, keeps its evaluations and says it went on."""
    plan = replace(CART_POLE, recipe=replace(recipe("reference", algorithm, 4), steps=2_048))
    looks_before: list[float] = []

    def dies(self: Any) -> None:
        checkpoint(self)
        if self._learner.num_timesteps >= 1_024:
            looks_before.extend(evaluation.steps for evaluation in read_curve(tmp_path / "run"))
            raise KeyboardInterrupt

    checkpoint = running._Run._checkpoint
    monkeypatch.setattr(running._Run, "_checkpoint", dies)
    with pytest.raises(KeyboardInterrupt):
        _train(plan, tmp_path / "run")
    monkeypatch.undo()
    outcome = _train(plan, tmp_path / "run")
    assert outcome.resumed == 1
    assert outcome.steps >= 2_048
    steps = [evaluation.steps for evaluation in read_curve(tmp_path / "run")]
    assert steps[: len(looks_before)] == looks_before
    assert steps == sorted(set(steps))
    assert steps[-1] >= 2_048
    assert _train(plan, tmp_path / "run") == outcome, "an ended run is not run again"


def test_a_folder_keeps_one_plan(tmp_path: Path) -> None:
    """Another plan in the folder of a run is refused, with what differs."""
    _train(CART_POLE, tmp_path / "run")
    with pytest.raises(InputError, match="evaluate_every"):
        _train(replace(CART_POLE, evaluate_every=1_024), tmp_path / "run")


def test_patience_ends_a_run_early(tmp_path: Path) -> None:
    """A run that gets no better for as many evaluations as its patience ends there, and says so."""
    still = with_values(CART_POLE.recipe, ["learning_rate=0.0"], frozenset({"learning_rate"}))
    outcome = _train(replace(CART_POLE, recipe=still, patience=2), tmp_path / "run")
    assert outcome.stopped_early
    assert outcome.steps < 2_048
    assert len(read_curve(tmp_path / "run")) == 3


def test_tensorboard_and_checkpoints_are_written(tmp_path: Path) -> None:
    """A run leaves TensorBoard's log, the newest checkpoint alone, and its plan."""
    _train(CART_POLE, tmp_path / "run")
    folder = tmp_path / "run"
    assert list((folder / "tensorboard").rglob("events.out.tfevents.*"))
    assert [path.name for path in (folder / "checkpoints").glob("*.zip")] == ["2048.zip"]
    assert json.loads((folder / "plan.json").read_text("utf-8")) == CART_POLE.as_json()


def test_placement_is_learnt_like_any_environment(tmp_path: Path) -> None:
    """It has no splits: the development episodes differ from training's by their seeds."""
    short = replace(recipe("skrueue", "PPO", 110), steps=256, hyper_parameters={"n_steps": 128})
    arguments = {"length_seconds": 600, "scenario": "burst_load"}
    plan = Plan("Foresail/JobPlacement-v1", short, 0, arguments, development_episodes=1)
    assert _train(plan, tmp_path / "run").steps == 256


@pytest.mark.parametrize(
    ("environment", "algorithm", "wrong"),
    [
        ("CartPole-v1", "SAC", "real numbers"),
        ("Pendulum-v1", "DQN", "choice of actions"),
        ("CartPole-v1", "MaskablePPO", "may not be taken"),
        ("NoSuch-v1", "PPO", "--env"),
        ("Foresail/Agents-v1", "PPO", "learn train-agents"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, environment: str, algorithm: str, wrong: str
) -> None:
    """Environment and algorithm that do not fit one another are refused with the remedy."""
    plan = Plan(environment, recipe("reference", algorithm, 4), seed=0)
    with pytest.raises(InputError, match=wrong):
        _train(plan, tmp_path / "run")
