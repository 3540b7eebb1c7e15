"""Runs the jobs of a session as processes of this machine, through `lab.sessions.job_supervisor`."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.sessions.engines.ending_files import EndingFiles, ending_of
from lab.sessions.engines.port import (
    TAIL_BYTES,
    Attempt,
    Ending,
    EngineLost,
    environment_of,
    make_room,
    read_result_file,
    tail_of,
)
from lab.sessions.job_supervisor import LOGS

GRACE_SECONDS = 2.0
"""Between the request to end and the kill."""


@dataclass(frozen=True, slots=True)
class LocalLimits:
    """Limits of each job's process; None: the user's own."""

    memory_bytes: int | None = None
    """Address space."""
    cpu_seconds: int | None = None


class LocalEngine:
    """A process a job; nothing of it outlives the runner."""

    name = "local"
    keeps_deadlines = False

    def __init__(self, folder: Path, limits: LocalLimits | None = None) -> None:
        """Keep logs and endings in `folder`, the session's own."""
        self._folder = folder
        self._limits = limits or LocalLimits()
        self._known = EndingFiles(folder)
        self._process: asyncio.subprocess.Process | None = None
        self._started: dict[str, asyncio.Future[int]] = {}
        self._endings: asyncio.Queue[Ending | None] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._pids: dict[str, int] = {}

    def result_path(self, output_json: str) -> str:
        """Return the file itself: it is on this machine."""
        return output_json

    async def open(self) -> None:
        """Start the supervisor; it waits until that of an earlier runner has ended its jobs."""
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "lab.sessions.job_supervisor", str(self._folder.absolute())),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        if not await self._process.stdout.readline():
            raise EngineLost("the supervisor of the jobs did not start")
        self._keep(self._listen(self._process.stdout))

    async def submit(self, attempt: Attempt) -> str:
        """Start a job's process, or hand out how it ended under an earlier runner; see `Engine.submit`."""
        known = self._known.find(attempt.name)
        if known is not None:
            self._endings.put_nowait(self._with_tail(known))
            return attempt.name
        make_room(Path(attempt.output_json))
        started = asyncio.get_running_loop().create_future()
        self._started[attempt.name] = started
        environment = environment_of(attempt)
        await self._order(
            {"start": attempt.name, "words": attempt.words, "environment": environment}
        )
        pid = await started
        if pid:
            self._limit(pid)
        return f"pid {pid}" if pid else attempt.name

    async def watch(self) -> AsyncIterator[Ending]:
        """Yield attempts as they end; see `Engine.watch`."""
        while True:
            ending = await self._endings.get()
            if ending is None:
                raise EngineLost("the supervisor of the jobs has died; resume the session")
            yield ending

    async def cancel(self, attempt: Attempt) -> None:
        """Ask the job's processes to end, and kill them a moment later; see `Engine.cancel`."""
        await self._order({"kill": attempt.name, "signal": signal.SIGTERM})

        async def kill() -> None:
            await asyncio.sleep(GRACE_SECONDS)
            with suppress(EngineLost):
                await self._order({"kill": attempt.name, "signal": signal.SIGKILL})

        self._keep(kill())

    async def collect(self, attempt: Attempt) -> bytes:
        """Return the result's bytes; see `Engine.collect`."""
        return read_result_file(Path(attempt.output_json))

    async def close(self) -> None:
        """End the supervisor, which kills what still runs."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _order(self, order: dict[str, Any]) -> None:
        assert self._process is not None, "not open"
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            await self._process.stdin.drain()
        except ConnectionError as error:
            raise EngineLost("the supervisor of the jobs has died; resume the session") from error

    async def _listen(self, stdout: asyncio.StreamReader) -> None:
        while line := await stdout.readline():
            told = json.loads(line)
            if "started" in told:
                self._pids[told["started"]] = told["pid"]
                self._begun(told["started"], told["pid"])
            else:
                self._pids.pop(told["ended"], None)
                self._endings.put_nowait(self._with_tail(ending_of(told)))
                self._begun(told["ended"], 0)
        for pid in self._pids.values():  # the supervisor itself was killed
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        for name in list(self._started):
            self._begun(name, 0)
        self._endings.put_nowait(None)

    def _begun(self, name: str, pid: int) -> None:
        started = self._started.pop(name, None)
        if started is not None and not started.done():
            started.set_result(pid)

    def _limit(self, pid: int) -> None:
        """Bound a process that has just started; it cannot have needed much yet (Linux)."""
        if sys.platform != "linux":
            return
        for kind, most in (
            (resource.RLIMIT_AS, self._limits.memory_bytes),
            (resource.RLIMIT_CPU, self._limits.cpu_seconds),
        ):
            if most is not None:
                with suppress(ProcessLookupError, PermissionError):
                    resource.prlimit(pid, kind, (most, most))

    def _with_tail(self, ending: Ending) -> Ending:
        if ending.exit_code == 0:
            return ending
        return replace(ending, log_tail=tail_of(self._log_end(ending.name)))

    def _log_end(self, name: str) -> str:
        with suppress(OSError), (self._folder / LOGS / f"{name}.log").open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - TAIL_BYTES))
            return log.read().decode(errors="replace")
        return ""

    def _keep(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
