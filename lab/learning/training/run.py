"""One training run: checkpoints, evaluations on the development split, an early end, and going on where it stopped.

A folder holds one seed's run. `plan.json` says what it is, `curve.jsonl` has a line for each evaluation, `best.zip` the
weights that were best on the development split, `checkpoints/` the newest ones, `outcome.json` appears at the end.
A run that goes on starts its environments anew and draws from its seed and the steps so far, so it does not end with
the weights of one that was never stopped; `outcome.json` says how often that was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bus.errors import InputError
from inputs.clock import Clock
from lab.learning.evaluation.episodes import DEVELOPMENT_SEED
from lab.learning.libraries import library
from lab.learning.training import learners
from lab.learning.training.environments import (
    STATISTICS,
    make_environment,
    observation_shape,
    side_by_side,
    with_statistics,
)
from lab.learning.training.evaluating import Development
from lab.learning.training.imitation import check_imitation, imitate
from lab.learning.training.plan import Plan

PLAN, CURVE, OUTCOME = "plan.json", "curve.jsonl", "outcome.json"
BEST, CHECKPOINTS, TENSORBOARD = "best.zip", "checkpoints", "tensorboard"
MEMORY = ".memory.pkl"
Report = Callable[[float], None]
"""Told which share of the steps is done."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a policy did on the development split after so many steps."""

    steps: int
    seconds: float
    """Wall time of training so far, evaluations included, restarts' too."""
    returns: tuple[float, ...]
    """One for each episode; the same episodes each time."""
    lengths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    steps: int
    seconds: float
    cpu_seconds: float
    """Of the process that ended it, all threads; of earlier ones where it was resumed, too."""
    best_steps: int
    best_return: float
    """Mean on the development split."""
    stopped_early: bool
    resumed: int
    """How often it went on after it had been stopped."""


def train(plan: Plan, folder: Path, clock: Clock, report: Report) -> Outcome:
    """Train, or go on, or return what an earlier process made of the same plan.

    Args:
        plan: what is trained.
        folder: of this seed's run alone.
        clock: for how long it took.
        report: told now and then how far it is.

    Raises:
        InputError: the folder has another plan's run, or the environment and the algorithm do not fit.
    """
    outcome = read_outcome(folder)
    _keep_plan(plan, folder)
    if outcome is not None:
        return outcome
    probe = make_environment(plan.environment, plan.arguments)
    learners.check_spaces(plan.recipe.algorithm, probe)
    probe.close()
    if plan.imitates:
        check_imitation(plan)
    library("torch").set_num_threads(1)  # small networks: more threads wait for one another
    run = _Run(plan, folder, clock, report)
    return run.to_its_end()


def read_outcome(folder: Path) -> Outcome | None:
    """Return how the run in a folder ended; None where it has not."""
    path = folder / OUTCOME
    return Outcome(**json.loads(path.read_text("utf-8"))) if path.is_file() else None


def read_curve(folder: Path) -> list[Evaluation]:
    """Return a run's evaluations, in the order of their steps."""
    path = folder / CURVE
    if not path.is_file():
        return []
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        Evaluation(row["steps"], row["seconds"], tuple(row["returns"]), tuple(row["lengths"]))
        for row in rows
    ]


def read_plan(folder: Path) -> Mapping[str, Any]:
    """Return the plan of the run in a folder, as JSON's own types.

    Raises:
        InputError: there is none.
    """
    path = folder / PLAN
    if not path.is_file():
        raise InputError("run", folder, "no run is kept there; train first")
    plan: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return plan


def _keep_plan(plan: Plan, folder: Path) -> None:
    path = folder / PLAN
    if path.is_file():
        if (kept := read_plan(folder)) != plan.as_json():
            differing = [key for key, value in plan.as_json().items() if kept.get(key) != value]
            remedy = (
                f"a run with other settings is there ({', '.join(differing)}); give another --name"
            )
            raise InputError("--name", folder, remedy)
        return
    folder.mkdir(parents=True, exist_ok=True)
    _write_whole(path, json.dumps(plan.as_json(), indent=1, sort_keys=True) + "\n")


def _write_whole(path: Path, text: str) -> None:
    unfinished = path.with_suffix(".partial")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


class _Run:
    """One process' part of a run."""

    def __init__(self, plan: Plan, folder: Path, clock: Clock, report: Report) -> None:
        self._plan, self._folder, self._report = plan, folder, report
        self._keeps_statistics = plan.normalise or plan.recipe.scale_rewards
        self._clock, self._began = clock, clock.monotonic()
        self._cpu_began = _cpu_seconds()
        self._evaluations = read_curve(folder)
        seeds = range(DEVELOPMENT_SEED, DEVELOPMENT_SEED + plan.development_episodes)
        self._development = Development(plan, seeds)
        self._learner, self._environments, self._state = self._learner_from_here()
        done = self._learner.num_timesteps
        self._evaluations = [
            evaluation for evaluation in self._evaluations if evaluation.steps <= done > 0
        ]
        self._write_curve()
        self._next_evaluation = done - done % plan.evaluate_every + plan.evaluate_every
        self._next_checkpoint = done - done % plan.checkpoint_every + plan.checkpoint_every
        self._stopped_early = False

    def to_its_end(self) -> Outcome:
        """Train what is left."""
        plan, learner = self._plan, self._learner
        left = plan.recipe.steps - learner.num_timesteps
        if plan.imitates and not learner.num_timesteps:
            imitate(learner, plan)
            self._evaluate()
        if left > 0 and not self._out_of_patience():
            more = (
                {}
                if plan.masked or plan.recipe.algorithm != "MaskablePPO"
                else {"use_masking": False}
            )
            learner.learn(
                total_timesteps=left, callback=self._on_step, tb_log_name="run",
                reset_num_timesteps=self._state["resumed"] == 0, **more,
            )  # fmt: skip
        if not self._evaluations or self._evaluations[-1].steps < learner.num_timesteps:
            self._evaluate()
        self._environments.close()
        best = self._best()
        outcome = Outcome(
            learner.num_timesteps, self._seconds(),
            self._state["cpu_seconds"] + _cpu_seconds() - self._cpu_began,
            best.steps, fmean(best.returns), self._stopped_early, self._state["resumed"],
        )  # fmt: skip
        _write_whole(self._folder / OUTCOME, json.dumps(asdict(outcome)) + "\n")
        return outcome

    def _learner_from_here(self) -> tuple[Any, Any, dict[str, Any]]:
        plan, checkpoints = self._plan, self._folder / CHECKPOINTS
        environments = side_by_side(
            plan.environment, plan.arguments, plan.recipe.environments, plan.seed,
            normalise=plan.normalise, scale=plan.recipe.scale_rewards,
        )  # fmt: skip
        kept = sorted(checkpoints.glob("*.json"), key=lambda path: int(path.stem))
        if not kept:
            learner = learners.build(
                plan.recipe,
                environments,
                plan.seed,
                self._folder / TENSORBOARD,
                observation_shape(plan.arguments),
            )
            return learner, environments, {"resumed": 0, "seconds": 0.0, "cpu_seconds": 0.0}
        newest = kept[-1]
        if self._keeps_statistics:
            environments = with_statistics(environments, newest.with_suffix(STATISTICS))
        learner = learners.load(plan.recipe.algorithm, newest.with_suffix(".zip"), environments)
        if learners.has_memory(plan.recipe.algorithm):
            learner.load_replay_buffer(newest.with_suffix(MEMORY))
        learner.set_random_seed(plan.seed + learner.num_timesteps)
        state: dict[str, Any] = json.loads(newest.read_text("utf-8"))
        return learner, environments, {**state, "resumed": state["resumed"] + 1}

    def _on_step(self, inside: Mapping[str, Any], outside: Mapping[str, Any]) -> bool:
        """Evaluation and keep a checkpoint when it is time; return whether to go on."""
        del inside, outside
        steps = self._learner.num_timesteps
        if steps >= self._next_evaluation:
            self._next_evaluation += self._plan.evaluate_every
            self._evaluate()
            self._report(min(1.0, steps / self._plan.recipe.steps))
        if steps >= self._next_checkpoint:
            self._next_checkpoint += self._plan.checkpoint_every
            self._checkpoint()
        self._stopped_early = self._out_of_patience()
        return not self._stopped_early

    def _evaluate(self) -> None:
        plan, learner = self._plan, self._learner
        normalise = self._environments.normalize_obs if plan.normalise else None
        policy = learners.LearnerPolicy(plan.recipe.algorithm, learner, normalise)
        episodes = self._development.episodes(policy)
        evaluation = Evaluation(
            learner.num_timesteps, self._seconds(),
            tuple(episode.total for episode in episodes),
            tuple(episode.length for episode in episodes),
        )  # fmt: skip
        better = not self._evaluations or fmean(evaluation.returns) > fmean(self._best().returns)
        self._evaluations.append(evaluation)
        self._write_curve()
        if learner.num_timesteps:  # there is no log before the first step
            learner.logger.record("development/return", fmean(evaluation.returns))
        if better:
            self._save(self._folder / BEST)

    def _save(self, path: Path) -> None:
        self._learner.save(path)
        if self._keeps_statistics:
            self._environments.save(str(path.with_suffix(STATISTICS)))

    def _checkpoint(self) -> None:
        folder = self._folder / CHECKPOINTS
        folder.mkdir(exist_ok=True)
        before = list(folder.iterdir())
        path = folder / f"{self._learner.num_timesteps}.zip"
        self._save(path)
        if learners.has_memory(self._plan.recipe.algorithm):
            self._learner.save_replay_buffer(path.with_suffix(MEMORY))
        state = {
            "resumed": self._state["resumed"],
            "seconds": self._seconds(),
            "cpu_seconds": self._state["cpu_seconds"] + _cpu_seconds() - self._cpu_began,
        }
        _write_whole(path.with_suffix(".json"), json.dumps(state) + "\n")
        for old in before:
            old.unlink()

    def _best(self) -> Evaluation:
        return max(
            self._evaluations, key=lambda evaluation: (fmean(evaluation.returns), -evaluation.steps)
        )

    def _out_of_patience(self) -> bool:
        if self._plan.patience == 0 or not self._evaluations:
            return False
        return (
            len(self._evaluations) - 1 - self._evaluations.index(self._best())
            >= self._plan.patience
        )

    def _seconds(self) -> float:
        return float(self._state["seconds"]) + self._clock.monotonic() - self._began

    def _write_curve(self) -> None:
        lines = [json.dumps(asdict(evaluation)) for evaluation in self._evaluations]
        _write_whole(self._folder / CURVE, "".join(f"{line}\n" for line in lines))


def _cpu_seconds() -> float:
    return time.process_time()
