"""The set: the headline's workloads and market on three seeds, the traps, and two real traces where they are there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from foresail.experiment.trap_run import play_trap
from foresail.experiment.trial import run_trial, trial_settings
from foresail.stack.virtual import run_virtual_stack
from lab.experiments.spec import Trial, read_experiment
from lab.traps.trap import read_traps
from proofs.safety_net.digests import Digests, Places, digest_recording

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
TRAPS = EXPERIMENTS / "traps"
PROFILES = ("foresail", "baseline-rules")
SEEDS = (1_000_000, 1_000_001, 1_000_002)
SHORT = {"nodes": 30, "warm_up": 60.0, "length": 840.0}
"""Long enough that the efficiency agent, which saves on nothing younger than ten minutes, acts."""
EARLIER = (("/surge.yaml", "/early_surge.yaml"), ("/failures.yaml", "/early_failures.yaml"))
"""What goes wrong hours after the start, and what does within minutes."""
WORKLOADS = {
    "headline-market": ("market", "market-surge"),
    "headline": ("web", "web-surge", "google2011", "openb-failures"),
}
ARM = "foresail"
"""Plays every seed; the other arms that act play the first."""
REAL = {"google2011": "google2011/task_events.parquet", "openb-failures": "k8s/openb_pod_list.csv"}
"""Workloads that are played from the trace itself, too, and a file that this needs."""


@dataclass(frozen=True, slots=True)
class ShortRun:
    """One run of the set."""

    name: str
    play: Callable[[Path], object]
    """Plays it into a recording that is not there yet; can be pickled."""
    missing: str = ""
    """Why it cannot be played here; empty: it can."""


Task = tuple[ShortRun, Path]
"""A run, and where its recording goes."""


def play(task: Task) -> tuple[str, Digests, Places]:
    """Play a run; return its name and what its recording holds."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    run, recording = task
    recording.unlink(missing_ok=True)
    run.play(recording)
    return run.name, *digest_recording(recording)


def every_run(data: Path | None) -> Iterator[ShortRun]:
    """Yield the set in a fixed order; `data` is the folder of the real traces, if there is one."""
    for trial in _trials():
        workload = trial.workload.name
        yield ShortRun(f"{workload}/{trial.arm.name}/{trial.seed}", partial(run_trial, trial, ""))
        if workload in REAL and (trial.arm.name, trial.seed) == (ARM, SEEDS[0]):
            there = data is not None and (data / REAL[workload]).is_file()
            missing = "" if there else f"FORESAIL_DATA has no {REAL[workload]}"
            yield ShortRun(f"{workload}/real", partial(_play_real, trial, data or Path()), missing)
    for trap in read_traps(TRAPS):
        for profile in PROFILES:
            play = partial(play_trap, trap, profile, TRAPS)
            yield ShortRun(f"trap/{trap.name}/{profile}", play)


def _trials() -> Iterator[Trial]:
    for file, names in WORKLOADS.items():
        experiment = read_experiment(EXPERIMENTS / f"{file}.toml")
        world = experiment.world.model_copy(update=SHORT)
        arms = [arm for arm in experiment.arms if arm.acts]
        for workload in experiment.workloads:
            scenario = workload.scenario
            for late, early in EARLIER:
                scenario = scenario and scenario.replace(late, early)
            played = workload.model_copy(update={"scenario": scenario})
            if workload.name in names:
                for arm in arms:
                    for seed in SEEDS if arm.name == ARM else SEEDS[:1]:
                        yield Trial(world, played, arm, seed)


def _play_real(trial: Trial, data: Path, recording: Path) -> None:
    """Play as `foresail up --virtual-time` does, with the untouched world beside it."""
    settings = trial_settings(trial, recording)
    run = settings.run.model_copy(update={"data": str(data)})
    run_virtual_stack(settings.model_copy(update={"run": run}), quiet=True)
