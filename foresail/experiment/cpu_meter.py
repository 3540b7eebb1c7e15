"""Processor time of the services of a stack that share one process, each with the tasks that it starts."""

from __future__ import annotations

import asyncio
import time
import types
from collections import defaultdict
from collections.abc import Coroutine, Generator
from contextvars import ContextVar
from typing import Any

_SERVICE: ContextVar[str] = ContextVar("foresail_metered_service")


class CpuMeter:
    """Adds up the time of every step that a service's tasks take; equal runs differ in it."""

    def __init__(self) -> None:
        """Begin with nothing measured."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Processor time by service."""

    async def run(self, name: str, service: Coroutine[Any, Any, None]) -> None:
        """Run a service to its end; what it starts counts as its own."""
        _SERVICE.set(name)
        asyncio.get_running_loop().set_task_factory(self._start_task)
        await self._step(name, service)

    def _start_task(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        name = _SERVICE.get(None)
        if name is not None:
            coroutine = self._measured(name, coroutine)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def _measured(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return await self._step(name, coroutine)

    @types.coroutine
    def _step(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, None, Any]:
        """Hand on what a coroutine waits for, and measure how long it runs from one wait to the next."""
        error: BaseException | None = None
        while True:
            began = time.process_time()
            try:
                waits_for = coroutine.send(None) if error is None else coroutine.throw(error)
            except StopIteration as end:
                return end.value
            finally:
                self.seconds[name] += time.process_time() - began
            try:
                yield waits_for
            except BaseException as raised:  # noqa: BLE001 - the coroutine answers it, a cancellation too
                error = raised
            else:
                error = None
