"""Where an experiment's results are, and which of them are meant: what every action's arguments share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bus.errors import InputError
from lab.experiments.code_version import code_version
from lab.experiments.results import TrialResult
from lab.experiments.run import Plan
from lab.experiments.spec import FIRST_SEED, Split, read_experiment
from lab.experiments.split_uses import Look, count_use


def add_experiment(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """Add the experiment's file, its folder and the split."""
    about = "an experiment (docs/experiments.md)"
    if optional:
        parser.add_argument("file", metavar="FILE", nargs="?", help=about)
    else:
        parser.add_argument("file", metavar="FILE", help=about)
    parser.add_argument("--dir", metavar="DIR",
                        help="folder of the results (default: FILE without its suffix, with .results)")  # fmt: skip
    parser.add_argument("--split", choices=tuple(FIRST_SEED), default="development",
                        help="workloads and seeds; each use of test is counted (default: development)")  # fmt: skip


def plan_for(path: Path, split: Split, folder: Path | None) -> Plan:
    """Return the plan of an experiment's file whose results stand in a folder (None: beside it).

    Raises:
        InputError: the file cannot be used, or nothing of it belongs to the split.
    """
    experiment = read_experiment(path)
    if not any(workload.split == split for workload in experiment.workloads):
        remedy = f"{path} has no workload of it; use the other, or add one"
        raise InputError("--split", split, remedy)
    return Plan(experiment, split, folder or path.with_suffix(".results"), code_version())


def plan_of(arguments: argparse.Namespace) -> Plan:
    """Return the plan that the arguments mean.

    Raises:
        InputError: the file cannot be used, or nothing of it belongs to the split.
    """
    folder = None if arguments.dir is None else Path(arguments.dir)
    return replace(
        plan_for(Path(arguments.file), arguments.split, folder),
        recordings=getattr(arguments, "recordings", "first"),
        jobs=max(1, getattr(arguments, "jobs", 1)),
        engine=getattr(arguments, "engine", "local"),
        ray_address=getattr(arguments, "ray_address", None),
    )


def note_collected(plan: Plan, results: Sequence[TrialResult], by: Look) -> None:
    """Count a look at results of the test split; where there is none yet nobody has seen anything."""
    if plan.split == "test" and results:
        count_use(plan.folder, plan.experiment, plan.code, by)
