"""Benchmarks print figures and progress; log lines of the code that they run are not among them."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import NAMES, OTHER_FLAGS, PARTS

ROOT = Path(__file__).parents[2]
QUIETING = {"parser", "quiet"}
"""Of `benchmarks.machine`: both keep log lines away."""
PROGRAM = """
import structlog
{before}
for name in ("bus", "collector"):
    log = structlog.get_logger(name)
    log.info("connected")
    log.error("gone")
"""


def _programs() -> list[Path]:
    return [
        path
        for path in sorted((ROOT / "benchmarks").glob("*.py"))
        if 'if __name__ == "__main__"' in path.read_text(encoding="utf-8")
        and path.stem not in {"__main__", *PARTS}
    ]


def _called(program: Path) -> set[str]:
    tree = ast.parse(program.read_text(encoding="utf-8"))
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


@pytest.mark.parametrize("program", _programs(), ids=lambda path: path.stem)
def test_every_benchmark_begins_quiet(program: Path) -> None:
    """Each one that can be started takes the shared flags, or calls `quiet` itself."""
    assert QUIETING & _called(program)


def test_every_benchmark_is_listed_once() -> None:
    """`python -m benchmarks` runs each program of the folder, and the table of docs/performance.md has each."""
    programs = [path.stem for path in _programs()]
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|", page.partition("## Figures")[0], re.MULTILINE)

    assert sorted(NAMES) == programs
    assert sorted(rows) == programs


def test_shared_flags_go_to_all_that_take_them() -> None:
    """--json and --seed are kept from those alone that have no such flags."""
    without = {path.stem for path in _programs() if "parser" not in _called(path)}

    assert without == OTHER_FLAGS


@pytest.mark.parametrize(
    ("before", "lines"), [("", 4), ("from benchmarks.machine import parser; parser('x')", 0)]
)
def test_log_lines_stay_away(before: str, lines: int) -> None:
    """A service in the benchmark's own process logs into nothing; without the shared call it prints."""
    printed = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert lines == len((printed.stdout + printed.stderr).splitlines())


@pytest.mark.nats
def test_a_benchmark_prints_one_json_object_and_nothing_else() -> None:
    """What `--json` prints can be piped into a parser as it is; stderr has no log line either."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.adapter"),
            *("--json", "--events", "50", "--rounds", "1"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert json.loads(done.stdout)["rows"]
    assert "[" not in done.stderr
