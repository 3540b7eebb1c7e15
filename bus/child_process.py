"""A program that one of our processes starts: it hears no signals of the terminal and ends with its
parent, however that ends (parent-death signal on Linux).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import IO, Any, TypeVar

from bus.cancellation import cancel_and_wait
from bus.child_timeouts import START_SECONDS, StartTimeout, StopTimeout
from bus.errors import NeverReady
from bus.processor_time import ProcessorMeter, ProcessorTime
from inputs.parent_process import PARENT_VARIABLE, die_with_parent

ROUND_SECONDS = 0.5
"""Pause between two looks at how a child is that one waits for."""

Output = int | IO[bytes]
"""As `subprocess` takes it: DEVNULL, PIPE or an open file."""
NOWHERE: Output = asyncio.subprocess.DEVNULL
Observe = Callable[[float, ProcessorTime], str]
T = TypeVar("T")


class ChildProcess:
    """One program; `start` it, also again after its end."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """The process id; 0 while it does not run."""
        return self._process.pid if self._process is not None and self.runs else 0

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def stdout(self) -> asyncio.StreamReader:
        """Its output, when it was started with `stdout=PIPE`."""
        assert self._process is not None, "not started"
        assert self._process.stdout is not None, "not started with a pipe"
        return self._process.stdout

    async def start(
        self,
        command: Sequence[str],
        *,
        stdout: Output = NOWHERE,
        stderr: Output = NOWHERE,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; `environment` is added to ours.

        Raises:
            OSError: there is no such program.
        """
        self._process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, PARENT_VARIABLE: str(os.getpid()), **(environment or {})},  # noqa: TID251 - inherited
            stdin=asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )

    async def wait(self) -> int:
        """Wait until it ends; return its exit code, negative for a signal."""
        assert self._process is not None, "not started"
        return await self._process.wait()

    def kill(self) -> bool:
        """Kill it with SIGKILL; False when it does not run."""
        if self._process is None or not self.runs:
            return False
        self._process.kill()
        return True

    async def wait_ready(
        self, ready: Coroutine[Any, Any, T], most_seconds: float = START_SECONDS
    ) -> T:
        """Wait until `ready` returns, as it does once the child is ready; see `StartTimeout`.

        Raises:
            NeverReady: the child ended, hangs, or was busy for `most_seconds`; it may still run.
        """
        getting_ready = asyncio.create_task(ready)
        try:
            why = await self._wait_for(getting_ready, StartTimeout(most_seconds).observe)
            if getting_ready.done():
                return getting_ready.result()
            raise NeverReady(why or "ended at once")
        finally:
            await cancel_and_wait(getting_ready)

    async def stop(self, patience_seconds: float) -> None:
        """Stop it with SIGTERM and wait; kill it when it does not end in time, see `StopTimeout`."""
        if self._process is None or not self.runs:
            return
        self._process.send_signal(signal.SIGTERM)
        if await self._wait_for(None, StopTimeout(patience_seconds).observe):
            self.kill()
            await self._process.wait()

    async def _wait_for(self, task: asyncio.Task[T] | None, observe: Observe) -> str:
        """Wait until a task or the child ends; or return why not, as `observe` says after each round."""
        ending = asyncio.create_task(self.wait())
        tasks: set[asyncio.Task[Any]] = {ending} if task is None else {ending, task}
        clock, meter = asyncio.get_running_loop().time, ProcessorMeter(self.pid)
        try:
            while True:
                began = clock()
                done, _ = await asyncio.wait(
                    tasks, timeout=ROUND_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if done or (why := observe(clock() - began, meter.since_last())):
                    return "" if done else why
        finally:
            await cancel_and_wait(ending)
