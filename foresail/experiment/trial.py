"""One trial: the stack of `foresail up --virtual-time` on one workload, under one arm, with one seed."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import structlog

from foresail.experiment.controllers import DeploymentControllers
from foresail.experiment.oracle import Oracle
from foresail.experiment.planted import PlantedHarm
from foresail.settings import StackSettings, resolve
from foresail.stack.in_process import AGENTS
from foresail.stack.virtual import run_virtual_stack
from lab.experiments.arms import Arm
from lab.experiments.engine import Task
from lab.experiments.results import TrialResult
from lab.experiments.scored import ScoredTime
from lab.experiments.spec import Trial
from lab.experiments.stimulus import Stimulus
from lab.experiments.truth import Truth
from projections.score.prices import ScorePrices
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import Mode
from schemas.score import OutcomeScore
from twin.engine import Engine

ACTING = ("inference", *AGENTS, "referee", "executor")
"""Services without which the cluster is watched and scored but nothing is decided."""


def run_task(task: Task) -> TrialResult:
    """Play a task's trial in a process that does nothing else; what a recording needs is whole or not there.

    Raises:
        InputError: workload, scenario, machines or a setting cannot be used.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    if task.recording is None:
        return run_trial(task.trial, task.fingerprint, None)
    recording = Path(task.recording)
    unfinished = recording.with_suffix(f".part{recording.suffix}")
    unfinished.unlink(missing_ok=True)
    result = run_trial(task.trial, task.fingerprint, unfinished)
    unfinished.replace(recording)
    return result.model_copy(update={"recording": recording.name})


def run_trial(trial: Trial, fingerprint: str, recording: Path | None) -> TrialResult:
    """Play a trial to its end and return what came of it.

    Args:
        trial: what is played.
        fingerprint: its name among the results.
        recording: where the sealed log is kept; None: it is not.

    Raises:
        InputError: workload, scenario, machines or a setting cannot be used.
    """
    worlds: list[tuple[Engine, Truth, ScoredTime]] = []
    stimuli: list[Stimulus] = []

    def prepare(engine: Engine) -> None:
        stimuli.append(Stimulus(engine))
        add_writers(engine, trial.arm)
        counted = ScoredTime(engine.now + trial.world.warm_up)
        worlds.append((engine, Truth(engine, trial.world.warm_up), counted))

    def take(event: Event[EventData]) -> None:
        if isinstance(event.data, OutcomeScore):
            worlds[0][2].take(event.data)

    began = time.process_time()
    summary = run_virtual_stack(
        trial_settings(trial, recording),
        quiet=True,
        prepare=prepare,
        without=idle_services(trial),
        listener=take,
    )
    ((engine, truth, scored),) = worlds
    score, components = scored.per_hour()
    if score is not None:
        components["withheld"] = withheld = _withheld(truth, trial)
        score += withheld
    metrics = {**truth.metrics(), "writes": _writes(trial, summary)}
    if score is not None:
        metrics["score_dollars_per_hour"] = score
    return TrialResult(
        fingerprint=fingerprint,
        workload=trial.workload.name,
        arm=trial.arm.name,
        seed=trial.seed,
        metrics=metrics,
        components=components,
        stimulus=stimuli[0].digest(),
        digest=engine.state_hash(),
        recording=None if recording is None else recording.name,
        cpu_seconds=round(time.process_time() - began, 2),
    )


def idle_services(trial: Trial) -> tuple[str, ...]:
    """Return the services that this arm does without: all that decide, when nothing would be done."""
    if not trial.arm.acts:
        return ACTING
    idle = tuple(f"agent-{name}" for name in trial.arm.without_agents)
    return idle if trial.arm.predicts else ("inference", *idle)


def add_writers(engine: Engine, arm: Arm) -> None:
    """Let everybody write who looks after the cluster in this arm beside Foresail's own services."""
    DeploymentControllers(engine, arm)
    if arm.oracle is not None:
        Oracle(engine, arm, arm.oracle)
    if arm.planted is not None:
        PlantedHarm(engine, arm.planted)


def _withheld(truth: Truth, trial: Trial) -> float:
    """Return what taking replicas away cost where nothing else shows it, in dollars per hour, as held demand."""
    hours = trial.world.length / 3_600.0
    return -ScorePrices().held_pod_hour * truth.withheld_pod_hours() / hours


def trial_settings(trial: Trial, recording: Path | None) -> StackSettings:
    """Return the stack's settings: nothing of the machine's surroundings counts.

    Raises:
        ConfigError: the arm has a setting that there is not, or a value that does not fit.
    """
    world, workload = trial.world, trial.workload
    mode = Mode.ACTIVE if trial.arm.acts else Mode.SHADOW
    run: dict[str, Any] = {
        "workload": workload.plays or workload.name,
        "nodes": trial.nodes,
        "seed": trial.seed,
        "speed": 1.0,
        "interval_seconds": world.cycle,
        "for_seconds": world.warm_up + world.length,
        "virtual_time": True,
        "mode": mode.value,
        "record": None if recording is None else str(recording),
        "scenario": workload.scenario,
        "provisioner": trial.arm.provisioner,
        "machines": world.machines,
        "weather": world.weather,
    }
    flags = {f"run.{name}": value for name, value in run.items()}
    return resolve(None, {}, {**flags, **trial.arm.settings})


def _writes(trial: Trial, summary: dict[str, Any]) -> float:
    """Return how many executions changed the cluster; in shadow mode none does."""
    return float(summary["executions"].get("succeeded", 0)) if trial.arm.acts else 0.0
