"""`foresail experiment report FILE`: what an experiment's results say, as a page and as Markdown."""

from __future__ import annotations

import argparse
import math
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from bus.errors import InputError
from bus.exit_codes import ExitCode
from foresail.experiment.folder import add_experiment, note_collected, plan_of
from foresail.experiment.run_notes import note_arm_gate, note_effects
from foresail.experiment_page import experiment_page
from foresail.html_page import write_page
from foresail.output import console, print_json
from foresail.run_log import add_run, note_artifact
from lab.experiments.agreement import measure_agreement
from lab.experiments.csv_tables import EFFECTS, TRIALS, WORKLOADS, csv_tables, write_csv_tables
from lab.experiments.markdown import markdown
from lab.experiments.report import Origin, Report, as_json, make_report, programs_of
from lab.experiments.results import ResultFolder, TrialCost, TrialResult
from lab.experiments.run import Plan
from lab.experiments.split_uses import read_uses

PAGE, TEXT = "report.html", "report.md"

EXAMPLES = (
    ("experiment report experiments/short.toml", "the page and the Markdown beside the results"),
    ("experiment report experiments/short.toml --csv figures", "and every figure as CSV"),
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
    parser.add_argument(
        "--csv",
        metavar="FOLDER",
        help=f"also write the figures unrounded: {EFFECTS}, {WORKLOADS}, {TRIALS}",
    )
    add_run(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write both, and say what stands on the first screen.

    Raises:
        InputError: the experiment cannot be used, or a file cannot be written.
    """
    plan = plan_of(arguments)
    folder = ResultFolder(plan.folder)
    results = folder.read(task.fingerprint for task in plan.tasks)
    costs = folder.read_costs(results)
    note_collected(plan, results, "report")
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
    tables = _write_tables(arguments.csv, report, results, costs)
    note_effects(report.analysis)
    note_arm_gate(report.analysis, report.gate)
    for file in (page, text, *tables):
        note_artifact(file, "report")
    if arguments.json:
        print_json(as_json(report))
    else:
        _show(report, [page, text, *tables])
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


def _write_tables(
    folder: str | None,
    report: Report,
    results: Sequence[TrialResult],
    costs: Mapping[str, TrialCost],
) -> list[Path]:
    """Write the CSV files, if they were asked for; return their paths.

    Raises:
        InputError: one cannot be written.
    """
    if folder is None:
        return []
    try:
        return write_csv_tables(Path(folder), csv_tables(report, results, costs))
    except OSError as error:
        remedy = f"give a folder that can be written ({error.strerror})"
        raise InputError("--csv", folder, remedy) from error


def _show(report: Report, files: Sequence[Path]) -> None:
    answer = "passes" if report.gate.passes else "does not pass"
    lines = [f"{report.experiment.hypothesis.arm} {answer} the gate"]
    lines += [f"{finding.heading}: {finding.text}" for finding in report.findings]
    console().print("\n".join([*lines, *map(str, files)]), markup=False, soft_wrap=True)
