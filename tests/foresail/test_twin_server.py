"""The twin as a process of a stack: its first line, its health, and its end with whoever started it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest

from bus.ports import free_port
from inputs.parent_process import PARENT_VARIABLE
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.twin
COMMAND = [sys.executable, "-m", "foresail.twin_server"]
OPTIONS = ["--nodes", "3", "--workload", "idle", "--kubeconfig-dir"]


@contextmanager
def running(folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start a small idle twin; end it."""
    pipe = subprocess.PIPE
    command = [*COMMAND, *OPTIONS, str(folder)]
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment}
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def first_line(started: subprocess.Popen[str]) -> dict[str, str]:
    """Wait for what it prints when it is ready."""
    assert started.stdout is not None
    ready: dict[str, str] = json.loads(started.stdout.readline())
    return ready


def test_the_first_line_is_where_it_is(tmp_path: Path) -> None:
    """Also when there is something to log before: that its health port was taken goes to standard error."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with running(tmp_path, FORESAIL_HEALTH_PORT=port) as started:
            ready = first_line(started)
            started.terminate()
            _, output = started.communicate(timeout=HANGS_SECONDS)

    assert ready["address"].startswith("https://127.0.0.1:")
    assert "not answering" in output


def test_it_answers_as_every_process_does(tmp_path: Path) -> None:
    """Once it serves it is ready, says its cluster's time, and counts the steps that failed."""
    port = free_port()
    with running(tmp_path, FORESAIL_HEALTH_PORT=str(port), FORESAIL_CLUSTER="c") as started:
        first_line(started)
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=HANGS_SECONDS) as answer:
            state = json.load(answer)
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=HANGS_SECONDS) as answer:
            names = {
                line.split("{")[0].split(" ")[0] for line in answer.read().decode().split("\n")
            }

    assert (state["ready"], state["failed_steps"]) == (True, 0)
    assert state["cluster_seconds"] > 0
    assert {"foresail_twin_cluster_time_seconds", "foresail_twin_failed_steps_total"} <= names


def test_it_does_not_outlive_its_parent(tmp_path: Path) -> None:
    """Told of a parent that is not its own any more, it is killed before it does anything."""
    gone = psutil.Process().ppid()
    with running(tmp_path, **{PARENT_VARIABLE: str(gone)}) as started:
        output, _ = started.communicate(timeout=HANGS_SECONDS)

    assert (started.returncode, output) == (-9, "")


def test_a_wrong_health_port_is_one_line(tmp_path: Path) -> None:
    """It is named with its remedy, exit code 2, before the world is built."""
    environment = {**os.environ, "FORESAIL_HEALTH_PORT": "none"}
    command = [*COMMAND, *OPTIONS, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("FORESAIL_HEALTH_PORT = none: ")
    assert len(done.stderr.splitlines()) == 1
