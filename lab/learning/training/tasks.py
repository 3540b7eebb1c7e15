"""Runs of several seeds: one after the other, side by side, or over the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from inputs.clock import SystemClock
from lab.experiments.engine import run_local, run_ray
from lab.learning.training.plan import Plan
from lab.learning.training.run import Outcome, train


@dataclass(frozen=True, slots=True)
class SeedTask:
    """One seed's run."""

    plan: Plan
    folder: str
    """Of this run alone; on a Ray cluster one that all its machines share."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A seed and how its run ended."""

    seed: int
    outcome: Outcome


def seed_folder(folder: Path, seed: int) -> Path:
    """Return where a seed's run lies in the folder of all."""
    return folder / f"seed-{seed}"


def seed_tasks(plan: Plan, seeds: Sequence[int], folder: Path) -> list[SeedTask]:
    """Return a task for each seed."""
    return [
        SeedTask(replace(plan, seed=seed), str(seed_folder(folder, seed).absolute()))
        for seed in seeds
    ]


def _tell_nobody(share: float) -> None:
    del share


def run_seed(task: SeedTask, report: Callable[[float], None] = _tell_nobody) -> Finished:
    """Train one seed; a function of the module, so that other processes find it."""
    return Finished(task.plan.seed, train(task.plan, Path(task.folder), SystemClock(), report))


def run_seeds(
    tasks: Sequence[SeedTask],
    workers: int,
    ray_address: str | None,
    report: Callable[[float], None],
) -> Iterator[Finished]:
    """Yield each seed's end as it comes.

    Args:
        tasks: what is trained.
        workers: processes at the same time on this machine.
        ray_address: head of a Ray cluster that trains instead; `local` for one of this machine alone.
        report: told how far it is, where one process trains.

    Raises:
        InputError: the extra is missing, the cluster does not answer, or a folder has another run.
    """
    if ray_address is not None:
        address = None if ray_address == "local" else ray_address
        yield from run_ray(run_seed, tasks, address, lambda: False)
        return
    if workers > 1 and len(tasks) > 1:
        yield from run_local(run_seed, tasks, workers, lambda: False)
        return
    for number, task in enumerate(tasks):
        yield run_seed(task, lambda share, done=number: report((done + share) / len(tasks)))  # type: ignore[misc]
