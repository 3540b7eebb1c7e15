"""A recording as a bus that only reads: what reads a stack's log reads a file by the same code.

All messages stay in memory: about as much as the file unpacked. Positions may have gaps (a cut keeps the
original ones), and nothing new ever comes.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import NoReturn

from bus.errors import Permanent
from bus.ordered_read import matches_any
from bus.port import Heartbeats, LogInfo, Message, Messages, StoredMessage
from bus.recording.reader import open_recording

BATCH = 64
"""Messages after which a reader lets others have their turn."""
_seq_of = attrgetter("seq")


class RecordingBus:
    """Implements the reading half of `bus.port.Bus` over one file."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            InputError: it is no recording.
        """
        recording = open_recording(path)
        self.header = recording.header
        self._messages: list[StoredMessage] = list(recording)
        self.damage = recording.damage
        """Why reading ended early; empty when it did not."""
        self._newest = {message.subject: message for message in self._messages}

    async def publish(self, messages: Sequence[Message]) -> NoReturn:
        """Refuse: a recording is never written.

        Raises:
            Permanent: always.
        """
        raise Permanent(f"a recording takes no message ({len(messages)} given)")

    async def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield what is recorded, then wait without end."""
        async for message in self.history(subjects, start_seq=start_seq):
            yield message
        await asyncio.Event().wait()

    async def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is recorded between two positions, both included."""
        begin = bisect_left(self._messages, start_seq, key=_seq_of)
        end = len(self._messages)
        if end_seq is not None:
            end = bisect_right(self._messages, end_seq, key=_seq_of)
        for place in range(begin, end):
            if place % BATCH == 0:
                await asyncio.sleep(0)
            message = self._messages[place]
            if matches_any(subjects, message.subject):
                yield message

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        return self._newest.get(subject)

    async def info(self) -> LogInfo:
        """Return the recording in numbers; an empty one ends before it begins."""
        size = sum(len(message.data) for message in self._messages)
        first, last = (self._messages[0].seq, self._messages[-1].seq) if self._messages else (1, 0)
        return LogInfo(first, last, len(self._messages), size, -1, 0.0)

    async def send_heartbeat(self, process: str, payload: bytes) -> None:
        """Do nothing: nobody listens."""

    async def heartbeats(self, process: str = "*") -> Heartbeats:
        """Wait without end: nobody is alive in a recording."""
        await asyncio.Event().wait()
        yield process, b""

    async def close(self) -> None:
        """Let the messages go."""
        self._messages, self._newest = [], {}
