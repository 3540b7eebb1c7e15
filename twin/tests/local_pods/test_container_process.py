"""One container's processes, without a cluster: bounds, messages, what is left behind."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from twin.local_pods.command import Launch
from twin.local_pods.limits import ProcessLimits
from twin.local_pods.log_file import LogFile
from twin.local_pods.process import ContainerExit, ContainerProcess
from twin.tests.local_pods.conftest import alive, until

pytestmark = pytest.mark.slow
LIMITS = ProcessLimits(seconds=60.0)


def launch(code: str) -> Launch:
    """Return a container that runs Python code."""
    return Launch(
        name="main",
        words=("python", "-c", code),
        environment={},
        files={},
        folders=(),
        message_path="dev/termination-log",
        falls_back_to_log=False,
        memory_bytes=None,
        disk_bytes=None,
    )


def run(
    folder: Path, what: Launch, limits: ProcessLimits = LIMITS
) -> tuple[ContainerExit, LogFile]:
    """Run a container to its end."""
    log = LogFile(folder / "0.log", limits.log_bytes)
    process = ContainerProcess(what, folder / "0", log, limits, lambda: 12.5)
    end = asyncio.run(process.run({"PATH": "/nowhere"}))
    log.end()
    return end, log


def test_a_command_runs_no_longer_than_allowed(tmp_path: Path) -> None:
    """It is killed then, and the message says why."""
    limits = replace(LIMITS, seconds=1.0)
    end, _ = run(tmp_path, launch("import time; time.sleep(600)"), limits)
    assert end.code == 137
    assert end.message == "killed after 1 seconds, the most that a command may run"


def test_its_folder_of_temporary_files_may_be_a_volume(tmp_path: Path) -> None:
    """An emptyDir at /tmp is the pod's, and what is written there is in it."""
    what = replace(launch("open('tmp/a', 'w').write('b')"), links={"tmp": "scratch"})
    end, _ = run(tmp_path / "pod", what)
    assert end.code == 0
    assert (tmp_path / "volumes" / "scratch" / "a").read_text(encoding="utf-8") == "b"


def test_a_file_beyond_the_limit_cannot_be_written(tmp_path: Path) -> None:
    """Ephemeral storage bounds the size of each file."""
    what = replace(launch("open('big', 'wb').write(bytes(2 << 20))"), disk_bytes=1 << 20)
    end, log = run(tmp_path, what)
    assert end.code == 1
    assert "File too large" in log.tail(4_096, 80)
    assert (tmp_path / "0" / "big").stat().st_size <= 1 << 20


def test_open_files_are_bounded(tmp_path: Path) -> None:
    """A process that opens more is told so by the kernel."""
    code = "held = [open('x', 'w') for _ in range(100)]"
    end, log = run(tmp_path, launch(code), replace(LIMITS, open_files=50))
    assert end.code == 1
    assert "Too many open files" in log.tail(4_096, 80)


def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    """Also a child that has joined a process group of its own."""
    code = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(180)'], process_group=0)\n"
        "print(child.pid)"
    )
    end, log = run(tmp_path, launch(code))
    assert end == ContainerExit(0, "Completed")
    pid = int(log.tail(100, 1))
    until(lambda: not alive(pid))  # killed already; the kernel may still be ending it


def test_a_signal_ends_it_with_128_and_its_number(tmp_path: Path) -> None:
    """As a shell and a container runtime count."""
    end, _ = run(tmp_path, launch("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"))
    assert (end.code, end.reason) == (143, "Error")


def test_a_long_log_keeps_its_end(tmp_path: Path) -> None:
    """At most so many bytes stay, whole lines, newest last."""
    code = "for n in range(20_000): print(n)"
    _, log = run(tmp_path, launch(code), replace(LIMITS, log_bytes=40_000))
    texts = [text for _, text in log.lines()]
    assert texts[-1] == "19999"
    assert texts == [str(n) for n in range(20_000 - len(texts), 20_000)]
    assert sum(path.stat().st_size for path in tmp_path.glob("0*.log")) <= 40_000
    assert log.count == 20_000


def test_lines_carry_cluster_time(tmp_path: Path) -> None:
    """Standard output and standard error together, in order; an end without a newline counts."""
    code = "import sys; print('a'); print('b', file=sys.stderr); print('c', end='')"
    _, log = run(tmp_path, replace(launch(code), environment={"PYTHONUNBUFFERED": "1"}))
    assert list(log.lines()) == [(12.5, "a"), (12.5, "b"), (12.5, "c")]
