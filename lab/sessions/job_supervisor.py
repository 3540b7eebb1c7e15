"""`python -m lab.sessions.job_supervisor FOLDER`: starts the processes of a session's jobs, and outlives its runner
just long enough to end them.

Every job is a process group of its own. How it ended is written into a file before the runner is told, so that a
job that has succeeded is known to have succeeded even if the runner was killed at that moment. When the runner's
end of stdin closes, however the runner ended, all groups are killed, with what has left its group: this process
is the one to which the kernel gives orphans (Linux).

Orders come on stdin as JSON lines, `{"start": name, "words": [...], "environment": {...}}` and `{"kill": name,
"signal": 15}`; what happens goes to stdout, `{"started": name, "pid": 1}` and `{"ended": name, "code": 0,
"seconds": 1.0}`. It imports as little as it can: it is what each job is forked from.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from inputs.clock import SystemClock

LOCK = "supervisor.lock"
ENDED = "ended"
LOGS = "logs"
PR_SET_CHILD_SUBREAPER = 36
NOT_STARTED = 127
REMOVE = "--remove"
"""Leave nothing of the folder at the end."""


class JobSupervisor:
    """The processes of one runner."""

    def __init__(self, folder: Path, *, keeps_endings: bool) -> None:
        """Keep logs in `folder`, and endings, where nobody else does."""
        self._folder = folder
        self._keeps_endings = keeps_endings
        self._clock = SystemClock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._lock = threading.Lock()
        self._closing = False
        for name in (ENDED, LOGS):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def obey(self, order: dict[str, Any]) -> None:
        """Do what one line says."""
        if "start" in order:
            self._start(order["start"], order["words"], order["environment"])
        elif "kill" in order:
            with self._lock:
                process = self._running.get(order["kill"])
            if process is not None:
                _signal_group(process.pid, order["signal"])

    def end_all(self) -> None:
        """Kill everything and wait for it."""
        with self._lock:
            self._closing = True
            running = list(self._running.values())
        for process in running:
            _signal_group(process.pid, signal.SIGKILL)
        for process in running:
            process.wait()
        _kill_orphans()

    def _start(self, name: str, words: list[str], environment: dict[str, str]) -> None:
        began = self._clock.monotonic()
        try:
            with (self._folder / LOGS / f"{name}.log").open("wb") as log:
                process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **environment},  # noqa: TID251 - inherited
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            self._tell({"ended": name, "code": NOT_STARTED, "seconds": 0.0, "why": str(error)})
            return
        with self._lock:
            self._running[name] = process
        self._tell({"started": name, "pid": process.pid})
        threading.Thread(target=self._wait, args=(name, process, began), daemon=True).start()

    def _wait(self, name: str, process: subprocess.Popen[bytes], began: float) -> None:
        code = process.wait()
        _signal_group(process.pid, signal.SIGKILL)  # what it left running in its group
        ended = {"ended": name, "code": code, "seconds": round(self._clock.monotonic() - began, 3)}
        with self._lock:
            self._running.pop(name, None)
            lost = self._closing and code != 0
        if lost:
            return  # ended by us, because the runner is gone: the job is still to be done
        self._tell(ended)

    def _tell(self, what: dict[str, Any]) -> None:
        """Keep an ending, then tell the runner."""
        if "ended" in what and self._keeps_endings:
            path = self._folder / ENDED / f"{what['ended']}.json"
            unfinished = path.with_suffix(".part")
            with suppress(OSError):  # a full disk: the runner still hears of it
                unfinished.write_text(json.dumps(what), encoding="utf-8")
                unfinished.replace(path)
        with self._lock, suppress(BrokenPipeError, ValueError):
            sys.stdout.write(json.dumps(what) + "\n")
            sys.stdout.flush()


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def _kill_orphans() -> None:
    """Kill what has left its group and so became a child of this process, until there is none (Linux)."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    with suppress(OSError):
        while pids := children.read_text(encoding="utf-8").split():
            for pid in map(int, pids):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with suppress(ChildProcessError):
                    os.waitpid(pid, 0)


def main() -> int:
    """Obey stdin until it closes."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    os.setsid()
    if REMOVE in sys.argv and os.fork():
        os._exit(0)  # so that whoever started it has no child that could be killed with it
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        fcntl.flock(
            lock, fcntl.LOCK_EX
        )  # until the supervisor of an earlier runner has ended its jobs
        supervisor = JobSupervisor(folder, keeps_endings=REMOVE not in sys.argv)
        sys.stdout.write('{"ready": true}\n')
        sys.stdout.flush()
        try:
            for line in sys.stdin:
                supervisor.obey(json.loads(line))
        finally:
            supervisor.end_all()
            if REMOVE in sys.argv:
                shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
