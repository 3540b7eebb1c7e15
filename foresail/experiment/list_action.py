"""`foresail experiment list [FILE]`: built-in arms and metrics, or how far an experiment's results are."""

from __future__ import annotations

import argparse
from collections import Counter

from rich.table import Table

from bus.exit_codes import ExitCode
from foresail.experiment.folder import add_experiment, plan_of
from foresail.output import console, print_json
from lab.experiments.arms import BUILT_IN, Arm, arm_of
from lab.experiments.metrics import METRICS
from lab.experiments.results import ResultFolder
from projections.figures import number

EXAMPLES = (
    ("experiment list", "built-in arms and metrics"),
    ("experiment list experiments/short.toml", "how far its results are"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_experiment(parser, optional=True)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Show it.

    Raises:
        InputError: the experiment cannot be used.
    """
    if arguments.file is None:
        _show_known(as_json=arguments.json)
    else:
        _show_results(arguments)
    return ExitCode.GOOD


def _show_known(*, as_json: bool) -> None:
    arms = {name: Arm.model_validate(arm_of(name)) for name in BUILT_IN}
    if as_json:
        metrics = {
            name: {"unit": m.unit, "better": m.better, "about": m.about}
            for name, m in METRICS.items()
        }
        print_json(
            {
                "arms": {name: arm.model_dump(mode="json") for name, arm in arms.items()},
                "metrics": metrics,
            }
        )
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("arm", "Foresail", "HPA", "VPA", "Kueue", "machines"):
        table.add_column(heading)
    for name, arm in arms.items():
        acts = "acts" if arm.acts else "looks on"
        table.add_row(
            name, acts, "yes" if arm.autoscaling else "", "yes" if arm.vertical else "",
            "yes" if arm.queues else "",
            "" if arm.provisioner == "none" else arm.provisioner,
        )  # fmt: skip
    console().print(table)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("metric", "unit", "better", "what it is"):
        table.add_column(heading)
    for name, metric in METRICS.items():
        table.add_row(name, metric.unit, metric.better, metric.about)
    console().print(table)


def _show_results(arguments: argparse.Namespace) -> None:
    plan = plan_of(arguments)
    results = ResultFolder(plan.folder)
    known = results.read(task.fingerprint for task in plan.tasks)
    counts = Counter((result.workload, result.arm) for result in known)
    wanted = Counter((task.trial.workload.name, task.trial.arm.name) for task in plan.tasks)
    if arguments.json:
        rows = [
            {"workload": workload, "arm": arm, "finished": counts[workload, arm], "of": count}
            for (workload, arm), count in wanted.items()
        ]
        print_json({"trials": len(plan.tasks), "finished": len(known), "rows": rows})
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("workload", "arm", "trials"):
        table.add_column(heading)
    for (workload, arm), count in wanted.items():
        table.add_row(workload, arm, f"{number(counts[workload, arm])} of {number(count)}")
    console().print(table)
