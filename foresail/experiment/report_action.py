"""`foresail experiment report FILE`: what an experiment's results say, as a page and as Markdown."""

from __future__ import annotations

import argparse
import math
import os
import platform
from collections.abc import Mapping
from pathlib import Path

from bus.exit_codes import ExitCode
from foresail.experiment.folder import add_experiment, note_look, plan_of
from foresail.experiment_page import experiment_page
from foresail.html_page import write_page
from foresail.output import console, print_json
from lab.experiments.agreement import measure_agreement
from lab.experiments.markdown import markdown
from lab.experiments.report import Origin, Report, as_json, make_report, programs_of
from lab.experiments.results import ResultFolder, TrialCost
from lab.experiments.run import Plan
from lab.experiments.split_uses import read_uses

PAGE, TEXT = "report.html", "report.md"

EXAMPLES = (
    ("experiment report experiments/short.toml", "the page and the Markdown beside the results"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    add_experiment(parser)
    parser.add_argument(
        "--html", metavar="PAGE", help=f"where the page goes (default: {PAGE} beside the results)"
    )
    parser.add_argument(
        "--markdown", metavar="TEXT", help=f"where the Markdown goes (default: {TEXT} beside them)"
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write both, and say what stands on the first screen.

    Raises:
        InputError: the experiment cannot be used, or a file cannot be written.
    """
    plan = plan_of(arguments)
    folder = ResultFolder(plan.folder)
    results = folder.read(task.fingerprint for task in plan.tasks)
    costs = folder.read_costs(results)
    note_look(plan, results, "report")
    report = make_report(
        plan.experiment,
        results,
        plan.split,
        origin=_origin(plan, costs, arguments.file),
        agreement=measure_agreement(programs_of(plan.experiment)),
        costs=costs,
    )
    plan.folder.mkdir(parents=True, exist_ok=True)
    page = Path(arguments.html or plan.folder / PAGE)
    text = Path(arguments.markdown or plan.folder / TEXT)
    write_page(page, experiment_page(report))
    write_page(text, markdown(report))
    if arguments.json:
        print_json(as_json(report))
    else:
        _show(report, page, text)
    return ExitCode.GOOD if results else ExitCode.NOTHING_COMPARED


def _origin(plan: Plan, costs: Mapping[str, TrialCost], file: str) -> Origin:
    seconds = math.fsum(cost.cpu_seconds for cost in costs.values())
    split = " --split test" if plan.split == "test" else ""
    return Origin(
        command=f"foresail experiment run {Path(file).name}{split}",
        code=plan.code,
        machine=f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        cpu_hours=seconds / 3_600.0,
        test_uses=read_uses(plan.folder),
    )


def _show(report: Report, page: Path, text: Path) -> None:
    answer = "passes" if report.gate.passes else "does not pass"
    lines = [f"{report.experiment.hypothesis.arm} {answer} the gate"]
    lines += [f"{finding.heading}: {finding.text}" for finding in report.findings]
    console().print("\n".join([*lines, str(page), str(text)]), markup=False, soft_wrap=True)
