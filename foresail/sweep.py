"""`foresail sweep FILE --param NAME=LOW..HIGH:STEPS ...`: many what-ifs over the cores, one table, the
Pareto front.

Ctrl-C keeps what was computed; the same command goes on from there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from bus.errors import InputError
from bus.exit_codes import ExitCode, verdict
from foresail.flags import seconds
from foresail.html_page import write_page
from foresail.output import console, print_json
from foresail.plots import svg_file
from foresail.progress import doing_stages
from foresail.stack.preflight import check_writable
from foresail.sweep_page import SweepResult, sweep_page, sweep_svg
from foresail.verbs import Verb
from foresail.what_if import add_changes, changes_of
from lab.rerun.changes import WINDOW_SECONDS
from lab.rerun.sweep import Sweep, pareto, read_parameter, run
from lab.rerun.sweep_drawing import terminal_plot
from lab.rerun.what_if import OPEN_LOOP
from projections.figures import number
from schemas.wording import count_text

VERB = Verb(180, "run a what-if for every combination of values of some settings, over all cores")
EXAMPLES = (
    ("sweep run.fslog --param agents.safety.replicate=0.7..0.95:6", "six values of one threshold"),
    (
        "sweep run.fslog --param agents.safety.replicate=0.8,0.9 --html sweep.html",
        "two values, with a picture",
    ),
)

Row = Mapping[str, Any]
FIGURES = ("reward", "churn", "actions", "rejected", "changed", "appeared", "vanished")
MORE_IS_BETTER = {"reward", "reward_safety", "reward_efficiency", "reward_admission"}
DEFAULT_GOALS = ("churn", "reward")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", metavar="FILE", help="a recording")
    parser.add_argument(
        "--param",
        dest="params",
        action="append",
        required=True,
        metavar="NAME=VALUES",
        help="values of a setting to try: a range and its number of steps (0.7..0.95:6), or a list "
        "(0.7,0.8,0.9); repeatable",
    )
    add_changes(parser)
    parser.add_argument(
        "--goals",
        default=",".join(DEFAULT_GOALS),
        metavar="X,Y",
        help="the two figures of the Pareto front; more reward is better, less of all else "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--window",
        type=seconds,
        default=WINDOW_SECONDS,
        metavar="DURATION",
        help="an action undone within this much cluster time counts as churn (default: 15m)",
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=os.cpu_count() or 1,
        metavar="N",
        help="processes at the same time (default: one per core)",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="results, one JSON line per point (default: FILE.sweep.jsonl)"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        help="also write one self-contained HTML page with the picture and every point",
    )
    parser.add_argument(
        "--svg", metavar="FILE", help="also write the Pareto front as an SVG picture"
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def main(arguments: argparse.Namespace) -> ExitCode:
    """Sweep and print.

    Raises:
        InputError: the recording, a parameter or a goal cannot be used.
    """
    path = Path(arguments.file)
    if not path.is_file():
        raise InputError("FILE", path, "give a recording that exists")
    across, up = _goals(arguments.goals)
    sweep = Sweep(
        path,
        tuple(read_parameter(word) for word in arguments.params),
        changes_of(arguments),
        None if arguments.rules is None else Path(arguments.rules),
        arguments.window,
    )
    results = Path(arguments.out or f"{path}.sweep.jsonl")
    if not results.exists():
        check_writable("--out", results)
    rows = _compute(sweep, results, max(1, arguments.jobs))
    order = {str(point): number for number, point in enumerate(sweep.points)}
    rows.sort(key=lambda row: order[str(row["point"])])
    usable = [row for row in rows if "refused" not in row]
    front = pareto(usable, [(name, name in MORE_IS_BETTER) for name in (across, up)])
    result = SweepResult(path.name, rows, usable, front, (across, up), FIGURES)
    if arguments.svg is not None and usable:
        write_page(Path(arguments.svg), svg_file(sweep_svg(result)), "--svg")
    if arguments.html is not None:
        write_page(Path(arguments.html), sweep_page(result))
    if arguments.json:
        print_json({"loop": OPEN_LOOP, "rows": rows, "front": [row["point"] for row in front]})
    else:
        _print(rows, usable, front, (across, up))
    return verdict(
        differs=any(row.get("unreadable") for row in usable),
        nothing_compared=not any(row.get("compared", 1) for row in usable),
        cut_off=any(row.get("damage") for row in usable),
    )


def _goals(text: str) -> tuple[str, str]:
    known = (*FIGURES, *sorted(MORE_IS_BETTER - {"reward"}))
    names = tuple(name.strip() for name in text.split(","))
    if len(names) != 2 or any(name not in known for name in names):
        raise InputError("--goals", text, f"give two of {', '.join(known)}")
    return names[0], names[1]


def _compute(sweep: Sweep, results: Path, workers: int) -> list[Row]:
    """Return every point's figures, with progress for those who look."""
    rows: list[Row] = []
    with doing_stages("sweeping") as advance:
        try:
            for row, _ in run(sweep, results, workers):
                rows.append(row)
                advance("sweeping", len(rows), len(sweep.points))
        except KeyboardInterrupt:
            kept = f"kept {len(rows)} of {count_text(len(sweep.points), 'point')} in {results}; "
            sys.stderr.write(f"{kept}the same command goes on from there\n")
            raise
    return rows


def _print(
    rows: Sequence[Row], usable: Sequence[Row], front: Sequence[Row], goals: tuple[str, str]
) -> None:
    out = console()
    out.print(OPEN_LOOP, style="yellow")
    names = list(rows[0]["point"])
    table = Table(box=None, padding=(0, 1, 0, 0))
    for name in (*(_heading(name) for name in names), *FIGURES, "front"):
        table.add_column(name, justify="right", overflow="fold")
    if usable:
        baseline = usable[0]["baseline"]
        figures = (number(baseline[name]) for name in FIGURES)
        table.add_row(*("recorded" for _ in names[:1]), *("" for _ in names[1:]), *figures, "")
    for row in rows:
        values = [str(value) for value in row["point"].values()]
        if "refused" in row:
            continue
        figures = (number(row[name]) for name in FIGURES)
        table.add_row(*values, *figures, "o" if row in front else "")
    out.print(table)
    for row in rows:
        if "refused" in row:
            out.print(_refusal(row), style="dim", markup=False)
    if _tells_something(usable, goals):
        out.print(terminal_plot(usable, front, *goals), markup=False)


def _heading(name: str) -> str:
    """Return a setting's name with line ends between its words, so that its column stays narrow."""
    return name.removeprefix("agents.").replace(".", ".\n").replace("_", "\n_")


def _refusal(row: Row) -> str:
    """Return which values do not go together, and why."""
    values = ", ".join(f"{name} = {value}" for name, value in row["point"].items())
    return f"refused: {values}: {row['refused']}"


def _tells_something(usable: Sequence[Row], goals: tuple[str, str]) -> bool:
    """Return whether a plot has more than a line to show: both figures differ between points."""
    return all(len({row[name] for row in usable}) > 1 for name in goals)
