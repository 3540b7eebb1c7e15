"""`python -m proofs`: run every proof and print one table; exit code 1 when something did not hold."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from rich.console import Console, JustifyMethod
from rich.table import Table

from bus.errors import InputError
from proofs.row import CI, FULL, ProofRow, ProofSize

PARTS = (
    "simulation",
    "faults",
    "determinism",
    "identities",
    "load",
    "observability",
    "mutation",
    "cluster",
)
Prove = Callable[[ProofSize], Iterator[ProofRow]]


def main(arguments: list[str]) -> int:
    """Run the named parts, all by default; print each row when it is ready and the table at the end."""
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"what to prove: {', '.join(PARTS)} (default: all)"
    )
    parser.add_argument(
        "--small", action="store_true", help="make as few tries as the test suite does"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="random seed (default: 1)")
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="runs at the same time, of simulation and mutation (default: 1)",
    )
    parser.add_argument(
        "--only",
        type=Path,
        metavar="PATH",
        help="the folder or file to change, such as services/referee (mutation)",
    )
    parser.add_argument(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="store finished tries here, and continue where an earlier run of the same code stopped",
    )
    options = parser.parse_args(arguments)
    if options.jobs < 1:
        sys.stderr.write(f"error: --jobs = {options.jobs}: use 1 or more\n")
        return 2
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        sys.stderr.write(f"error: PART = {unknown[0]!r}: use one of {', '.join(PARTS)}\n")
        return 2
    base = CI if options.small else FULL
    scale = replace(base, seed=options.seed, jobs=options.jobs)
    scale = replace(scale, only=options.only, results=options.results)
    console = Console()
    rows: list[ProofRow] = []
    try:
        for part in options.parts or PARTS:
            prove: Prove = import_module(f"proofs.{part}").prove
            for row in prove(scale):
                rows.append(row)
                console.print(_line(row), markup=False, highlight=False)
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    console.print(table(rows))
    return 0 if rows and all(row.holds for row in rows) else 1


def table(rows: list[ProofRow]) -> Table:
    """Return every row as one table."""
    shown = Table(title="What was tried, and how often it held")
    for name in ("part", "what", "tried", "held", "detail"):
        justify: JustifyMethod = "right" if name in {"tried", "held"} else "left"
        shown.add_column(name, justify=justify, overflow="fold")
    for row in rows:
        style = None if row.holds else "bold red"
        shown.add_row(row.part, row.what, str(row.tried), str(row.held), row.detail, style=style)
    return shown


def _line(row: ProofRow) -> str:
    return f"{row.part:12} {row.what}: {row.held} of {row.tried} held  {row.detail}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
