"""The fixtures of conftest.py: a test that leaves something running fails, others pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[2] / "conftest.py"
PATIENCE = "ENDING_SECONDS = 120.0"
pytestmark = pytest.mark.slow

LEAVES_TASK = """
import asyncio
kept = []
async def test_it():
    kept.append(asyncio.get_running_loop().create_task(asyncio.sleep(600)))
"""
CANCELS_TASK = """
import asyncio
async def test_it():
    asyncio.get_running_loop().create_task(asyncio.sleep(600)).cancel()
"""
LEAVES_PROCESS = """
import subprocess, sys
kept = []
def test_it():
    kept.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
"""
ENDS_PROCESS = """
import subprocess, sys
def test_it():
    subprocess.run([sys.executable, "-c", ""], check=True)
"""
KEEPS_A_MODULES_PROCESS = """
import subprocess, sys
import pytest
@pytest.fixture(scope="module")
def server():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()
def test_it(server):
    assert server.poll() is None
"""


@pytest.mark.parametrize(
    ("source", "expected_text"),
    [
        pytest.param(LEAVES_TASK, "left asyncio tasks running", id="a task left"),
        pytest.param(LEAVES_PROCESS, "left child processes running", id="a process left"),
        pytest.param(CANCELS_TASK, "1 passed", id="a task ended"),
        pytest.param(ENDS_PROCESS, "1 passed", id="a process ended"),
        pytest.param(KEEPS_A_MODULES_PROCESS, "1 passed", id="a process of a longer fixture"),
    ],
)
def test_what_a_test_leaves_running_is_its_own_failure(
    source: str, expected_text: str, tmp_path: Path
) -> None:
    """Only what a test started itself and did not end is held against it."""
    text = CONFTEST.read_text(encoding="utf-8")
    assert PATIENCE in text
    (tmp_path / "conftest.py").write_text(text.replace(PATIENCE, "ENDING_SECONDS = 1.0"))
    (tmp_path / "test_it.py").write_text(source, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CONFTEST.parent)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert expected_text in ran.stdout
