"""Ctrl-C on a terminal while `foresail experiment run` plays: what each of its processes then does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from tests.patience import HANGS_SECONDS

FILE = """
name = "long"
arms = ["none", {name = "again", base = "baseline-rules"}]
[world]
nodes = 5
warm_up = "0s"
length = "48h"
weather = "off"
[[workloads]]
name = "google2011"
[seeds]
count = 2
[hypothesis]
arm = "again"
against = "none"
metric = "waiting_pod_hours"
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_run_with_one_line(tmp_path: Path, jobs: int) -> None:
    """130, a line that says what is kept, and neither a traceback nor half a recording, with one process and more."""
    (tmp_path / "long.toml").write_text(FILE, encoding="utf-8")
    command = [sys.executable, "-m", "foresail", "experiment", "run", str(tmp_path / "long.toml"),
               "--jobs", str(jobs), "--recordings", "all"]  # fmt: skip
    folder = tmp_path / "long.results"
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            _wait_for_trials(run, folder, jobs)
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does
            _, errors = run.communicate()
        finally:
            run.kill()
    kept = f"kept 0 of 4 trials in {folder}; the same command goes on from there\n"
    assert errors == kept
    assert run.returncode == ExitCode.INTERRUPTED
    assert list((folder / "recordings").iterdir()) == []


def _wait_for_trials(run: subprocess.Popen[str], folder: Path, count: int) -> None:
    deadline = time.monotonic() + HANGS_SECONDS
    while len(list(folder.glob("recordings/*.part.fslog"))) < count:
        assert run.poll() is None, run.communicate()
        assert time.monotonic() < deadline, "no trial has begun"
        time.sleep(0.05)
