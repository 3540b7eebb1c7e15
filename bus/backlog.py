"""Messages between the bus and a handler: read ahead, taken all at once."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from bus.port import Messages, StoredMessage

BACKLOG = 900
"""Most messages read ahead of the handler, which takes them all at once; more wait in the bus. Fewer
than the cycles that a handler keeps open (`schemas.view.OPEN_LIMIT`), so that it answers each of them
before it drops the oldest."""


class Backlog:
    """Messages between the bus and the handler: read ahead up to BACKLOG, taken all at once."""

    def __init__(self) -> None:
        self._messages: list[StoredMessage] = []
        self._change = asyncio.Event()
        self._room = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def fill(self, messages: Messages) -> None:
        """Read until cancelled; waits while the backlog is full."""
        async for message in messages:
            self._messages.append(message)
            self._change.set()
            if len(self._messages) >= BACKLOG:
                self._room.clear()
                await self._room.wait()

    def end(self, reader: asyncio.Task[None]) -> None:
        """Note that the feed ended; `take` raises the reason once it has returned what came before."""
        self._reader = reader
        self._change.set()

    async def take(self, wait_seconds: float | None) -> list[StoredMessage]:
        """Return all that has arrived, waiting for at least one message; nothing when the time is up.

        Raises:
            ForesailError: what ended the bus' feed.
            RuntimeError: the feed ended without an error.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_seconds):
                await self._change.wait()
        messages, self._messages = self._messages, []
        self._room.set()
        if self._reader is None:
            self._change.clear()
        elif not messages:
            self._reader.result()
            raise RuntimeError("the bus ended its feed")
        return messages
