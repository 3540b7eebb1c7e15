"""A copy of a session's events in another log, such as a running stack's, whose readers then see the session, too.

The session's own log is what counts: a copy that cannot be stored holds nothing up.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from bus.errors import ForesailError
from bus.follow import Publisher
from bus.port import Bus
from schemas.envelope import NewEvent
from schemas.identity import Origin

PRODUCER = "operator"
END_SECONDS = 5.0
"""How long the last events are given to be stored."""


class LogCopy:
    """Stores events one after the other, beside whoever adds them."""

    def __init__(self, bus: Bus, origin: Origin) -> None:
        """Store in `bus` as the operator."""
        self._publisher = Publisher(bus, origin, PRODUCER)
        self._events: asyncio.Queue[NewEvent] = asyncio.Queue()
        self._task = asyncio.get_running_loop().create_task(self._store())

    def add(self, event: NewEvent) -> None:
        """Take an event; it is stored later, or never."""
        if not self._task.done():
            self._events.put_nowait(event)

    async def close(self) -> None:
        """Store what is left, if that does not take long."""
        left = asyncio.ensure_future(self._events.join())
        await asyncio.wait([left, self._task], timeout=END_SECONDS, return_when="FIRST_COMPLETED")
        for task in (left, self._task):
            task.cancel()
        await asyncio.gather(left, self._task, return_exceptions=True)

    async def _store(self) -> None:
        with suppress(ForesailError):
            while True:
                event = await self._events.get()
                await self._publisher.publish([event])
                self._events.task_done()
