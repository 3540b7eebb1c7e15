"""What a Ray worker does for a job: runs its process, and brings back how it ended and its result.

Each worker has one `lab.sessions.job_supervisor`, which ends what the worker ran when the worker dies, however it
does. Where the session's folder can be seen from the worker, an ending and its result are kept there before the
runner hears of it, so that a runner that was killed finds them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from select import select
from typing import Any

from inputs.clock import SystemClock
from lab.sessions.engines.ending_files import EndingFiles, ending_of
from lab.sessions.engines.port import (
    TAIL_BYTES,
    Ending,
    NoResult,
    NotSubmitted,
    make_room,
    read_result_file,
    tail_of,
)
from lab.sessions.job_supervisor import LOGS, REMOVE

LOOK_SECONDS = 0.2
"""Ray cancels a task by an interrupt that no blocking call notices before its end."""
RESULT = "@foresail-result@"
"""Stands in a job's words for the file that its worker chooses."""


@dataclass(frozen=True, slots=True)
class RayJob:
    """An attempt as it travels to a worker."""

    name: str
    words: tuple[str, ...]
    environment: dict[str, str]
    timeout_seconds: float
    output_json: str
    working_folder: str
    session_folder: str


@dataclass(frozen=True, slots=True)
class RayOutcome:
    """What comes back."""

    ending: Ending
    result: bytes | None
    problem: str = ""
    """Why there is no result, where the job ended well."""
    kept: bool = False
    """Whether ending and result stand in the session's folder already."""


class _Supervisor:
    """The supervisor of this worker's jobs."""

    def __init__(self, working_folder: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="foresail-worker-"))
        there = working_folder if Path(working_folder).is_dir() else None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lab.sessions.job_supervisor", str(self.folder), REMOVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=there,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout
        self._rest = b""
        self._lines: deque[bytes] = deque()
        self._out.readline()
        self.process.wait()  # it has left: Ray kills the children of a worker that it ends, and then nobody would
        self.lost = False

    def order(self, what: dict[str, Any]) -> None:
        """Tell it to do something."""
        self._in.write(json.dumps(what).encode() + b"\n")
        self._in.flush()

    def wait(self, seconds: float | None) -> dict[str, Any] | None:
        """Return the ending of the job that runs; None when it has not come in time."""
        clock = SystemClock()
        last = None if seconds is None else clock.monotonic() + seconds
        while True:
            while self._lines:
                told: dict[str, Any] = json.loads(self._lines.popleft())
                if "ended" in told:
                    return told
            left = LOOK_SECONDS if last is None else max(0.0, last - clock.monotonic())
            if select([self._out], [], [], min(left, LOOK_SECONDS))[0]:
                self._read()
            elif last is not None and clock.monotonic() >= last:
                return None

    def _read(self) -> None:
        """Take what is there; lines that come together must not wait in a buffer that `select` does not see."""
        data = os.read(self._out.fileno(), 65_536)
        if not data:
            self.lost = True
            self._lines.append(b'{"ended": "", "lost": 1}')
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._lines.extend(lines)


_supervisors: dict[str, _Supervisor] = {}
"""That of this worker process, by the folder in which jobs run; a worker runs one job at a time."""


def run_ray_job(job: RayJob) -> RayOutcome:
    """Run a job to its end, or to the end of its time."""
    known = EndingFiles(Path(job.session_folder))
    supervisor = _supervisors.get(job.working_folder)
    if supervisor is None or supervisor.lost:
        supervisor = _supervisors[job.working_folder] = _Supervisor(job.working_folder)
    output = supervisor.folder / "result.json"
    output.unlink(missing_ok=True)
    words = [word.replace(RESULT, str(output)) for word in job.words]
    try:
        supervisor.order({"start": job.name, "words": words, "environment": job.environment})
        told = supervisor.wait(job.timeout_seconds)
        timed_out = told is None
        if told is None:
            told = _stop(supervisor, job.name)
    except KeyboardInterrupt:  # so Ray cancels a task
        _stop(supervisor, job.name)
        raise
    outcome = _outcome(supervisor, job, told, output, timed_out=timed_out)
    if Path(job.session_folder).is_dir():
        return _keep(known, job, outcome)
    return outcome


def _stop(supervisor: _Supervisor, name: str) -> dict[str, Any]:
    supervisor.order({"kill": name, "signal": signal.SIGTERM})
    told = supervisor.wait(2.0)
    if told is None:
        supervisor.order({"kill": name, "signal": signal.SIGKILL})
        told = supervisor.wait(None)
    assert told is not None
    return told


def _outcome(
    supervisor: _Supervisor, job: RayJob, told: dict[str, Any], output: Path, *, timed_out: bool
) -> RayOutcome:
    if "lost" in told:
        return RayOutcome(Ending(job.name, None, reason="its supervisor was killed"), None)
    ending = replace(ending_of(told), timed_out=timed_out)
    if ending.exit_code != 0:
        log = supervisor.folder / LOGS / f"{job.name}.log"
        text = ""
        with suppress(OSError):
            text = log.read_bytes()[-TAIL_BYTES:].decode(errors="replace")
        return RayOutcome(replace(ending, log_tail=tail_of(text)), None)
    try:
        return RayOutcome(ending, read_result_file(output))
    except NoResult as error:
        return RayOutcome(ending, None, str(error).replace(str(output), job.output_json))


def _keep(known: EndingFiles, job: RayJob, outcome: RayOutcome) -> RayOutcome:
    try:
        if outcome.result is not None:
            write_result(Path(job.working_folder, job.output_json), outcome.result)
        known.write(outcome.ending)
    except (OSError, NotSubmitted):
        return outcome
    return replace(outcome, kept=True)


def write_result(path: Path, data: bytes) -> None:
    """Write a result, whole or not at all; raises NotSubmitted or OSError."""
    make_room(path)
    unfinished = path.with_name(f"{path.name}.part")
    unfinished.write_bytes(data)
    unfinished.replace(path)
