"""One trial: the stack of `foresail up --virtual-time` on one workload, under one arm, with one seed."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import structlog

from bus.follow import Handler
from foresail.experiment.controllers import DeploymentControllers
from foresail.experiment.cpu_meter import CpuMeter
from foresail.experiment.drawn_world import history_of, with_files
from foresail.experiment.job_queues import KUEUE, JobQueues
from foresail.experiment.oracle import Oracle
from foresail.experiment.planted import PlantedHarm
from foresail.experiment.told_sizes import ToldSizes
from foresail.experiment.wrong_hours import ShuffledInference, WrongHours, wrong_hours_of
from foresail.settings import StackSettings, resolve
from foresail.stack.in_process import AGENTS
from foresail.stack.virtual import START_WALL_NS, Listener, run_virtual_stack
from lab.experiments.engine import Task
from lab.experiments.forecasts import ForecastSkill
from lab.experiments.input_hash import InputHash
from lab.experiments.results import PlayedTrial, TrialCost, TrialResult
from lab.experiments.scored import ScoredTime
from lab.experiments.spec import Trial
from lab.experiments.truth import GroundTruth
from lab.rate_worlds.scaling_ahead.controller import ScalesAhead
from projections.score.prices import ScorePrices
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import Mode, OutcomeForecast
from schemas.score import OutcomeScore
from schemas.switchback import OutcomeSwitchback
from services.inference.service import InferenceHandler
from twin.port.engine import Engine

ACTING = ("inference", *AGENTS, "referee", "executor")
"""Services without which the cluster is watched and scored but nothing is decided."""


@dataclass(slots=True)
class _WatchedWorld:
    """A trial's cluster, and what is counted of it and of its log."""

    engine: Engine
    trial: Trial
    stimulus: InputHash
    truth: GroundTruth
    scored: ScoredTime
    forecasts: ForecastSkill
    wrong_hours: WrongHours | None = None
    """What Foresail gets instead of its forecasts."""
    switchback: OutcomeSwitchback | None = None
    """The newest estimate."""

    def take(self, event: Event[EventData]) -> None:
        """Take in an event of the log."""
        if isinstance(event.data, OutcomeScore):
            self.scored.take(event.data)
        elif isinstance(event.data, OutcomeForecast):
            self.forecasts.take(event.data)
        elif isinstance(event.data, OutcomeSwitchback):
            self.switchback = event.data

    def instead(self, handler: Handler[Any]) -> Handler[Any]:
        """Return what answers in a handler's place."""
        if not isinstance(handler, InferenceHandler):
            return handler
        if self.trial.arm.sizes is not None:
            return ToldSizes(handler, self.trial.arm.sizes, self.engine, self.trial.seed)
        if self.wrong_hours is not None:
            return ShuffledInference(handler, self.wrong_hours)
        return handler


def run_task(task: Task) -> PlayedTrial:
    """Play a task's trial in a process that does nothing else; what a recording needs is whole or not there.

    Raises:
        InputError: workload, scenario, machines or a setting cannot be used.
    """
    _log_errors_only()
    unfinished = task.unfinished_recording
    with with_files(task.trial) as trial:
        if task.recording is None or unfinished is None:
            return run_trial(trial, task.fingerprint, None)
        recording = Path(task.recording)
        unfinished.unlink(missing_ok=True)
        played = run_trial(trial, task.fingerprint, unfinished)
    unfinished.replace(recording)
    result = played.result.model_copy(update={"recording": recording.name})
    return PlayedTrial(result, played.cost)


def estimate_cpu_seconds(trial: Trial, probe_seconds: float) -> float:
    """Play the first `probe_seconds` of a trial and return what the whole will cost, in CPU seconds.

    What happens once (imports, models that are read, tables that are worked out) falls into the first half for
    the most part, so the rest of the trial is taken to cost what the second half does.

    Raises:
        InputError: workload, scenario, machines or a setting cannot be used.
    """
    _log_errors_only()
    whole = trial.world.warm_up + trial.world.length
    short = min(probe_seconds, whole)
    spent: dict[
        float, float
    ] = {}  # CPU seconds by seconds of the run, at the first event of each moment

    def note(event: Event[EventData]) -> None:
        spent.setdefault((event.recorded_ns - START_WALL_NS) / 1e9, time.process_time())

    world = trial.world.model_copy(update={"warm_up": 0.0, "length": short})
    with with_files(replace(trial, world=world)) as short_trial:
        cost = run_trial(short_trial, "", None, note).cost.cpu_seconds
    later = [at for at in spent if 0.5 * short <= at <= short]
    if len(later) < 2:
        return cost * whole / short
    begin, end = later[0], later[-1]
    return cost + (whole - short) * (spent[end] - spent[begin]) / (end - begin)


def _log_errors_only() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


def run_trial(
    trial: Trial, fingerprint: str, recording: Path | None, listener: Listener | None = None
) -> PlayedTrial:
    """Play a trial to its end.

    Args:
        trial: what is played.
        fingerprint: its name among the results.
        recording: where the sealed log is kept; None: it is not.
        listener: told of every event of the log in order, but of snapshots.

    Raises:
        InputError: workload, scenario, machines or a setting cannot be used.
    """
    worlds: list[_WatchedWorld] = []

    def prepare(engine: Engine) -> None:
        stimulus = InputHash(engine)
        add_writers(engine, trial)
        counts_from = engine.now + trial.world.warm_up
        truth = GroundTruth(engine, trial.world.warm_up)
        scored, forecasts = ScoredTime(counts_from), ForecastSkill(counts_from)
        wrong_hours = wrong_hours_of(engine, trial) if trial.arm.wrong_hours else None
        worlds.append(_WatchedWorld(engine, trial, stimulus, truth, scored, forecasts, wrong_hours))

    def take(event: Event[EventData]) -> None:
        worlds[0].take(event)
        if listener is not None:
            listener(event)

    began, meter = time.process_time(), CpuMeter()
    summary = run_virtual_stack(
        trial_settings(trial, recording),
        quiet=True,
        prepare=prepare,
        without=idle_services(trial),
        listener=take,
        meter=meter.run,
        kueue=None if trial.arm.queues is None else KUEUE,
        instead=lambda handler: worlds[0].instead(handler),  # noqa: PLW0108 - there once it is prepared
    )
    (world,) = worlds
    metrics, components = _measured(world, trial, summary)
    result = TrialResult(
        fingerprint=fingerprint,
        workload=trial.workload.name,
        arm=trial.arm.name,
        seed=trial.seed,
        metrics=metrics,
        components=components,
        stimulus=world.stimulus.digest(),
        switchback=world.switchback,
        digest=world.engine.state_hash(),
        pressure=world.truth.pressure(),
        payers=world.truth.payers(),
        recording=None if recording is None else recording.name,
    )
    return PlayedTrial(result, _cost(time.process_time() - began, meter))


def _cost(cpu_seconds: float, meter: CpuMeter) -> TrialCost:
    decided = math.fsum(seconds for name, seconds in meter.seconds.items() if name in ACTING)
    return TrialCost(cpu_seconds=round(cpu_seconds, 2), controller_cpu_seconds=round(decided, 3))


def _measured(
    world: _WatchedWorld, trial: Trial, summary: dict[str, Any]
) -> tuple[dict[str, float], dict[str, float]]:
    """Return every metric that applies, and what the score is made of, in dollars per hour."""
    metrics = {
        **world.truth.metrics(),
        **world.forecasts.metrics(),
        "writes": _writes(trial, summary),
    }
    score, components = world.scored.per_hour()
    if score is not None:
        components["withheld"] = withheld = _withheld(world.truth, trial)
        metrics["score_dollars_per_hour"] = score + withheld
    return metrics, components


def idle_services(trial: Trial) -> tuple[str, ...]:
    """Return the services that this arm does without: all that decide, when nothing would be done."""
    if not trial.arm.acts:
        return ACTING
    idle = tuple(f"agent-{name}" for name in trial.arm.without_agents)
    return idle if trial.arm.predicts else ("inference", *idle)


def add_writers(engine: Engine, trial: Trial) -> None:
    """Let everybody write who looks after the cluster in this arm beside Foresail's own services."""
    arm = trial.arm
    if trial.world.rented:
        for node in tuple(engine.store.records("nodes")):
            engine.store.delete("nodes", "", node.name)
    DeploymentControllers(engine, arm)
    if arm.ahead is not None:
        ScalesAhead(engine, arm.ahead, history_of(trial), trial.seed)
    if arm.queues is not None:
        JobQueues(engine, arm.queues)
    if arm.oracle is not None:
        Oracle(engine, arm, arm.oracle)
    if arm.planted is not None:
        PlantedHarm(engine, arm.planted)


def _withheld(truth: GroundTruth, trial: Trial) -> float:
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
        "start_time": workload.start_time,
    }
    flags = {f"run.{name}": value for name, value in run.items()}
    return resolve(None, {}, {**flags, **trial.arm.settings})


def _writes(trial: Trial, summary: dict[str, Any]) -> float:
    """Return how many executions changed the cluster; in shadow mode none does."""
    return float(summary["executions"].get("succeeded", 0)) if trial.arm.acts else 0.0
