"""`foresail experiment suite FILE`: the gates of several experiments, one table, one exit code."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.table import Table

from bus.exit_codes import ExitCode
from foresail.experiment.folder import note_collected, plan_for
from foresail.output import console, print_json
from lab.experiments.gate import judge
from lab.experiments.results import ResultFolder
from lab.experiments.statistics import analyse
from lab.experiments.suite import SuiteGate, read_suite
from lab.experiments.wording import difference_text

EXAMPLES = (
    ("experiment suite experiments/suite.toml", "exit code 0 when every gate of it passes"),
)


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """Result of one gate of a suite."""

    name: str
    family: str
    split: str
    arm: str
    against: str
    passes: bool
    results: int
    """Trials that have a result."""
    trials: int
    difference: str
    """Of the hypothesis' metric; empty without a pair."""
    reasons: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this action's arguments."""
    parser.add_argument("file", metavar="FILE", help="a suite (docs/experiments.md)")


def run(arguments: argparse.Namespace) -> ExitCode:
    """Ask every gate, and show all answers.

    Raises:
        InputError: the suite, or an experiment of it, cannot be used.
    """
    suite = read_suite(Path(arguments.file))
    rows = [_row(gate) for gate in suite.gates]
    passed = sum(row.passes for row in rows)
    if arguments.json:
        gates = [asdict(row) for row in rows]
        print_json({"suite": suite.name, "passes": passed == len(rows), "gates": gates})
    else:
        _show(suite.name, rows, passed)
    return ExitCode.GOOD if passed == len(rows) else ExitCode.DIFFERS


def _row(gate: SuiteGate) -> SuiteRow:
    plan = plan_for(Path(gate.file), gate.split, None if gate.dir is None else Path(gate.dir))
    tasks = plan.tasks
    results = ResultFolder(plan.folder).read(task.fingerprint for task in tasks)
    note_collected(plan, results, "gate")
    analysis = analyse(plan.experiment, results, plan.split)
    answer = judge(analysis)
    hypothesis, primary = plan.experiment.hypothesis, analysis.primary
    confidence = plan.experiment.inference.confidence
    return SuiteRow(
        name=gate.name or plan.experiment.name,
        family=gate.family,
        split=gate.split,
        arm=hypothesis.arm,
        against=hypothesis.against,
        passes=answer.passes,
        results=len(results),
        trials=len(tasks),
        difference="" if primary is None else difference_text(primary, confidence),
        reasons=answer.reasons,
    )


def _show(name: str, rows: list[SuiteRow], passed: int) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("gate", "family", "split", "arm", "trials", "answer"):
        table.add_column(heading)
    for row in rows:
        answer = "passes" if row.passes else "does not pass"
        trials = f"{row.results} of {row.trials}"
        arm = f"{row.arm} against {row.against}"
        table.add_row(row.name, row.family, row.split, arm, trials, answer)
    out = console()
    out.print(table)
    for row in rows:
        for reason in row.reasons:
            out.print(f"{row.name}: {reason}", markup=False, soft_wrap=True)
    out.print(f"{name}: {passed} of {len(rows)} gates pass", markup=False)
