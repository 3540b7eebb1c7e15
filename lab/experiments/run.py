"""Runs the trials of an experiment that have no result yet; every result is kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.experiments.engine import EngineName, RunTask, Task, run_local, run_ray
from lab.experiments.results import ResultFolder, TrialResult
from lab.experiments.spec import FIRST_SEED, Experiment, Split
from lab.experiments.split_uses import count_use

Recordings = Literal["none", "first", "all"]
RECORDINGS: tuple[Recordings, ...] = ("none", "first", "all")
RECORDING_FOLDER = "recordings"


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a run."""

    experiment: Experiment
    split: Split
    folder: Path
    code: str
    """Of `code_version`."""
    recordings: Recordings = "first"
    """Which trials leave their sealed log: those of the first seed, all, or none."""
    jobs: int = 1
    engine: EngineName = "local"
    ray_address: str | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Every trial of the split, seed by seed."""
        return tuple(
            Task(
                trial,
                trial.fingerprint(self.code),
                self._recording_of(trial.fingerprint(self.code), trial.seed),
            )
            for trial in self.experiment.trials(self.split)
        )

    def _recording_of(self, fingerprint: str, seed: int) -> str | None:
        keep = self.recordings == "all" or (
            self.recordings == "first" and seed == FIRST_SEED[self.split]
        )
        return str(self.folder / RECORDING_FOLDER / f"{fingerprint}.fslog") if keep else None


def run(
    plan: Plan, run_task: RunTask, stopped: Callable[[], bool]
) -> Generator[TrialResult, None, None]:
    """Yield every result: those that are there, then the others as they come.

    Args:
        plan: what is run.
        run_task: plays one trial.
        stopped: asked before each further trial; what has begun is finished.

    Raises:
        InputError: a trial cannot be played, or Ray is asked for and is not there.
    """
    results = ResultFolder(plan.folder)
    todo = []
    for task in plan.tasks:
        result = results.find(task.fingerprint)
        if result is None:
            todo.append(task)
        else:
            yield result
    if not todo:
        return
    (plan.folder / RECORDING_FOLDER).mkdir(parents=True, exist_ok=True)
    if plan.split == "test":
        count_use(plan.folder, plan.experiment, plan.code, "run")
    if plan.engine == "ray":
        fresh = run_ray(run_task, todo, plan.ray_address, stopped)
    else:
        fresh = run_local(run_task, todo, plan.jobs, stopped)
    try:
        with closing(fresh):
            for played in fresh:
                results.write(played.result, played.cost)
                yield played.result
    finally:
        for task in todo:
            if task.unfinished_recording is not None:
                task.unfinished_recording.unlink(missing_ok=True)
