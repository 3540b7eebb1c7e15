"""A memory log filled with events of chosen ages, and the page served over it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bus.clock import SystemClock
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.envelope import Event
from services.dashboard.service import listen, run
from services.dashboard.settings import DashboardSettings
from tests.builders import ORIGIN
from tests.dashboard.built_cycles import message_of


@dataclass
class FilledLog:
    """A memory log whose events are stored at chosen ages."""

    clock: SystemClock = field(default_factory=SystemClock)
    moment_ns: int = 0
    log: MemoryLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = MemoryLog(wall_ns=lambda: self.moment_ns or self.clock.wall_ns())

    def fill(self, events: list[Event[Any]], seconds_apart: float = 0.15) -> None:
        """Store events; the last one now, the others `seconds_apart` before one another."""
        now = self.clock.wall_ns()
        for number, event in enumerate(events):
            self.moment_ns = now - round((len(events) - 1 - number) * seconds_apart * 1e9)
            message = message_of(event)
            self.log.store([message], [self.log.newest_seq(message.subject)])
        self.moment_ns = 0

    def bus(self) -> MemoryBus:
        """Return a connection of its own."""
        return MemoryBus(self.log, ORIGIN.cluster)


@dataclass
class ServedPage:
    """A dashboard served on a free port by an event loop in a thread of its own."""

    filled: FilledLog
    settings: DashboardSettings
    url: str = ""
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[None] | None = None
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to serve."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()

    def store(self, events: list[Event[Any]]) -> None:
        """Store more events, in the server's loop, as live ones arrive."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._store(events), self._loop).result(10)

    def stop(self) -> None:
        """End it and wait until it has ended."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread is not None:
            self._thread.join(10)

    async def _store(self, events: list[Event[Any]]) -> None:
        self.filled.fill(events)
        await asyncio.sleep(0)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(
            run(self.settings, self.filled.bus(), SystemClock(), ORIGIN)
        )
        with suppress(asyncio.CancelledError):
            await self._task


@contextmanager
def served_over(filled_log: FilledLog) -> Iterator[ServedPage]:
    """Serve the page over a log, on a free port."""
    probe = listen(DashboardSettings(port=0))
    port = probe.getsockname()[1]
    probe.close()
    page = ServedPage(filled_log, DashboardSettings(port=port), f"http://127.0.0.1:{port}")
    page.start()
    try:
        yield page
    finally:
        page.stop()
