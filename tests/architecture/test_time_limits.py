"""The limits of tests/time_limits.py: a test over its limit fails and says so, a waiting one does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

SPINS = """
import pytest
@pytest.mark.timeout(0.3)
def test_it():
    while True:
        pass
"""
SWALLOWED_BY_A_TASK = """
import asyncio
import pytest
async def spin():
    while True:
        pass
@pytest.mark.timeout(0.3)
def test_it():
    async def run():
        task = asyncio.create_task(spin())
        await asyncio.wait([task])
    asyncio.run(run())
"""
SWALLOWED_EACH_TIME = """
import time
import pytest
@pytest.mark.timeout(0.3)
def test_it():
    for _ in range(3):
        try:
            while True:
                pass
        except BaseException:
            pass
    raise AssertionError("no outcome")
"""
WAITS_TOO_LONG = """
import time
import pytest
@pytest.mark.timeout(0.3)
def test_it():
    time.sleep(60)
"""
WAITS = """
import time
import pytest
@pytest.mark.timeout(0.3)
def test_it():
    time.sleep(1)
"""
SHORT_WALL = "import tests.time_limits as it\nit.LEAST_WALL_SECONDS = it.WALL_FACTOR = {seconds}\n"


def outcome(tmp_path: Path, source: str, wall_seconds: float) -> str:
    """Run one test under the limits and return what pytest printed."""
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(SHORT_WALL.format(seconds=wall_seconds), encoding="utf-8")
    options = ("-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.time_limits")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        capture_output=True,
        text=True,
    )
    return ran.stdout


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(SPINS, id="spins"),
        pytest.param(SWALLOWED_BY_A_TASK, id="a task keeps the interruption"),
        pytest.param(SWALLOWED_EACH_TIME, id="the interruption is caught each time"),
    ],
)
def test_too_much_processor_time_fails_whoever_catches_it(source: str, tmp_path: Path) -> None:
    """A test over its processor time fails with that reason, even when code under test caught the
    interruption and reported something else.
    """
    said = outcome(tmp_path, source, 60.0)

    assert "1 failed" in said
    assert "the test used more than 0.3 s of processor time" in said


def test_waiting_uses_no_processor_time(tmp_path: Path) -> None:
    """A test that waits longer than its limit passes: a busy machine fails nothing."""
    assert "1 passed" in outcome(tmp_path, WAITS, 60.0)


def test_waiting_ends_all_the_same(tmp_path: Path) -> None:
    """A test that waits for what never comes fails at the wall-clock limit."""
    said = outcome(tmp_path, WAITS_TOO_LONG, 2.0)

    assert "1 failed" in said
    assert "the test took longer than 2 s" in said
