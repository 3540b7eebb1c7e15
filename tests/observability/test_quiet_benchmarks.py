"""Benchmarks print figures and progress; log lines of the code that they run are not among them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUIETING = {"parser", "quiet"}
"""Of `benchmarks.machine`: both keep log lines away."""
OTHERS = {"__main__", "hostile_reader_inputs", "twin_api_server", "twin_engine_world"}
"""What starts the benchmarks, and processes that a benchmark starts, whose output it reads."""
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
        if "__main__" in path.read_text(encoding="utf-8") and path.stem not in OTHERS
    ]


@pytest.mark.parametrize("program", _programs(), ids=lambda path: path.stem)
def test_every_benchmark_begins_quiet(program: Path) -> None:
    """Each one that can be started takes the shared flags, or calls `quiet` itself."""
    tree = ast.parse(program.read_text(encoding="utf-8"))
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert QUIETING & called


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
@pytest.mark.timeout(180)
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
