"""`foresail experiment run FILE`: plays every trial that has no result yet."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections import defaultdict
from collections.abc import Sequence

from bus.clock import SystemClock
from bus.exit_codes import ExitCode
from foresail.experiment.checks import check_trials
from foresail.experiment.folder import add_experiment, plan_of
from foresail.experiment.run_notes import note_effects
from foresail.experiment.trial import estimate_cpu_seconds, run_task
from foresail.flags import seconds
from foresail.output import console, print_json
from foresail.progress import bar
from foresail.run_log import add_run, note_artifact, note_trial, written
from lab.experiments.engine import ENGINES, Task
from lab.experiments.results import ResultFolder, TrialCost, TrialResult
from lab.experiments.run import RECORDINGS, Plan
from lab.experiments.run import run as run_plan
from lab.experiments.spec import SCORE
from lab.experiments.statistics import analyse
from projections.figures import duration, number
from schemas.wording import count_text

PROBE_SECONDS = 300.0
"""Cluster time of a probe, which says how dear the trials of a workload under an arm will be."""

EXAMPLES = (
    ("experiment run experiments/short.toml", "every trial that has no result yet"),
    (
        "experiment run experiments/short.toml --time-limit 1h",
        "an hour of it; the same command resumes",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_experiment(parser)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N",
                        help="trials at the same time (default: one a core)")  # fmt: skip
    parser.add_argument("--time-limit", type=seconds, metavar="DURATION",
                        help="begin no trial after this wall time; the same command resumes")  # fmt: skip
    parser.add_argument("--recordings", choices=RECORDINGS, default="first",
                        help="whose sealed logs stay: the first seed's, all, or none (default: first)")  # fmt: skip
    parser.add_argument("--engine", choices=ENGINES, default="local",
                        help="processes of this machine, or a Ray cluster (default: local)")  # fmt: skip
    parser.add_argument("--ray-address", metavar="HOST:PORT",
                        help="head of the Ray cluster (default: one of this machine alone)")  # fmt: skip
    add_run(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Estimate, run, and say how far it got.

    Raises:
        InputError: the experiment, or something that it names, cannot be used.
    """
    plan = plan_of(arguments)
    check_trials(plan.experiment, plan.split)
    try:
        finished = _play(plan, arguments)
    except KeyboardInterrupt:
        kept = f"kept {len(_finished(plan))} of {len(plan.tasks)} trials in {plan.folder}; "
        sys.stderr.write(f"{kept}the same command goes on from there\n")
        raise
    trials = len(plan.tasks)
    if arguments.json:
        print_json({"trials": trials, "finished": finished, "folder": str(plan.folder)})
    else:
        console().print(
            f"{finished} of {trials} trials in {plan.folder}", markup=False, soft_wrap=True
        )
    return ExitCode.GOOD if finished == trials else ExitCode.CUT_OFF


def _finished(plan: Plan) -> list[TrialResult]:
    return ResultFolder(plan.folder).read(task.fingerprint for task in plan.tasks)


def _play(plan: Plan, arguments: argparse.Namespace) -> int:
    """Print what is left, play it, and return how many trials have a result then."""
    tasks = plan.tasks
    left = len(tasks) - len(_finished(plan))
    if left and not arguments.json:
        hours = _estimate_cpu_hours(tasks, ResultFolder(plan.folder))
        console().print(
            f"{left} of {len(tasks)} trials to play, about {number(hours)} CPU hours: "
            f"{duration(3_600.0 * hours / max(1, min(plan.jobs, left)))} with {count_text(plan.jobs, 'job')}",
            markup=False,
            soft_wrap=True,
        )
    clock = SystemClock()
    limit_seconds: float | None = arguments.time_limit
    deadline = math.inf if limit_seconds is None else clock.monotonic() + limit_seconds
    finished = 0
    with bar("playing", len(tasks)) as advance:
        for result in run_plan(plan, run_task, lambda: clock.monotonic() >= deadline):
            finished += 1
            advance(finished)
            note_trial(
                plan.experiment.name, finished, result.metrics.get(SCORE), _parameters(result)
            )
    note_artifact(plan.folder, "trial")
    # Looks at the test split are counted, so its effects are told by `experiment report` alone.
    if written() and finished == len(tasks) and plan.split == "development":
        note_effects(analyse(plan.experiment, _finished(plan), plan.split))
    return finished


def _parameters(result: TrialResult) -> dict[str, str | int]:
    return {"workload": result.workload, "arm": result.arm, "seed": result.seed}


def _estimate_cpu_hours(tasks: Sequence[Task], results: ResultFolder) -> float:
    """Return what the missing trials will cost, from finished ones of their kind or from a short probe."""
    spent: dict[tuple[str, str], list[TrialCost]] = defaultdict(list)
    missing: dict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in tasks:
        kind = (task.trial.workload.name, task.trial.arm.name)
        if results.find(task.fingerprint) is None:
            missing[kind].append(task)
        elif (cost := results.find_cost(task.fingerprint)) is not None:
            spent[kind].append(cost)
    total = 0.0
    for kind, group in missing.items():
        if spent[kind]:
            each = math.fsum(cost.cpu_seconds for cost in spent[kind]) / len(spent[kind])
        else:
            each = estimate_cpu_seconds(group[0].trial, PROBE_SECONDS)
        total += each * len(group)
    return total / 3_600.0
