"""Print how many lines of Python stand in each room: `make size`, or `python -m docs.size`.

A line is a line of a tracked file, comments and blank ones included. The last row counts the services with every
module of ours that they import in the end, first for the five services from the collector to the executor.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import grimp
from rich.console import Console
from rich.table import Table

from docs.make_rooms import ROOT, import_graph

CHAIN = ("collector", "inference", "agents", "referee", "executor")
"""The services between a snapshot and a write to the cluster."""


def lines_by_room() -> Counter[str]:
    """Return lines of Python by top-level folder; tests of the twin are a room of their own."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.py"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    lines: Counter[str] = Counter()
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path.is_file():
            parts = Path(name).parts
            room = "twin/tests" if parts[:2] == ("twin", "tests") else parts[0]
            lines[room if len(parts) > 1 else "(top)"] += _lines(path)
    return lines


def service_lines(graph: grimp.ImportGraph, *packages: str) -> int:
    """Return the lines of some packages and of all modules that they import in the end."""
    needed: set[str] = set()
    for package in packages:
        needed |= {package, *graph.find_descendants(package)}
        needed |= graph.find_upstream_modules(package, as_package=True)
    return sum(_lines(_file(module)) for module in needed)


def _file(module: str) -> Path:
    base = ROOT.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def main() -> None:
    """Print the table."""
    rooms = lines_by_room()
    shown = Table("room", "lines of Python")
    shown.columns[1].justify = "right"
    for room, lines in rooms.most_common():
        shown.add_row(room, f"{lines:,}")
    shown.add_section()
    shown.add_row("all", f"{rooms.total():,}")
    graph = import_graph()
    chain = service_lines(graph, *(f"services.{name}" for name in CHAIN))
    shown.add_row("collector to executor, and what they import", f"{chain:,}")
    shown.add_row("all services, and what they import", f"{service_lines(graph, 'services'):,}")
    Console().print(shown)


if __name__ == "__main__":
    main()
