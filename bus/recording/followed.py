"""A recording that may still be written, as a bus that only reads: what is recorded, then what is added to it.

What is added while it is followed stays in memory. A frame that is not whole yet is waited for.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path

from bus.errors import RecordingDamaged
from bus.ordered_read import matches_any
from bus.port import LogInfo, Messages, StoredMessage
from bus.recording.bus import RecordingBus
from bus.recording.frames import CUT_OFF, FrameDamaged
from bus.recording.reader import NOT_SEALED, open_recording

POLL_SECONDS = 1.0
_seq_of = attrgetter("seq")


class FollowedRecording(RecordingBus):
    """A recording whose `read` goes on with what is written to it, until it is sealed or damaged."""

    def __init__(self, path: Path) -> None:
        """Read what is there.

        Raises:
            InputError: it is no recording.
        """
        super().__init__(path)
        self.grows = self.damage == NOT_SEALED or self.damage.startswith(CUT_OFF)
        """Whether more of it may come."""
        if self.grows:
            self.damage = ""
        self._recording = open_recording(path)
        self._place = self._recording.beginning()
        self._added: list[StoredMessage] = []
        self._known_seq: int | None = None

    async def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield what is recorded, then what is added, without end."""
        while True:
            last_seq = (await self.info()).last_seq
            async for message in self.history(subjects, start_seq=start_seq, end_seq=last_seq):
                yield message
            start_seq = max(start_seq, last_seq + 1)
            if not self.grows:
                await asyncio.Event().wait()
            await asyncio.sleep(POLL_SECONDS)
            await self._take()

    async def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is recorded between two positions, both included."""
        async for message in super().history(subjects, start_seq=start_seq, end_seq=end_seq):
            yield message
        begin = bisect_left(self._added, start_seq, key=_seq_of)
        end = len(self._added)
        if end_seq is not None:
            end = bisect_right(self._added, end_seq, key=_seq_of)
        for message in self._added[begin:end]:
            if matches_any(subjects, message.subject):
                yield message

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        for message in reversed(self._added):
            if message.subject == subject:
                return message
        return await super().last(subject)

    async def info(self) -> LogInfo:
        """Return the recording in numbers, as far as it is."""
        read = await super().info()
        if not self._added:
            return read
        size = read.bytes + sum(len(message.data) for message in self._added)
        first = self._added[0].seq if read.messages == 0 else read.first_seq
        messages = read.messages + len(self._added)
        return LogInfo(first, self._added[-1].seq, messages, size, -1, 0.0)

    async def _take(self) -> None:
        """Take in what was added since."""
        if self._known_seq is None:
            self._known_seq = (await super().info()).last_seq
        self._added += await asyncio.to_thread(self._new_messages, self._known_seq)

    def _new_messages(self, known_seq: int) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        try:
            for content in self._recording.contents(self._place):
                found += [message for message in content.messages if message.seq > known_seq]
                self.grows = self.grows and not content.sealed
        except FrameDamaged as error:
            if error.why != CUT_OFF:  # else its writer is still at it
                self._stop(error)
        except (OSError, RecordingDamaged) as error:
            self._stop(error)
        return found

    def _stop(self, error: Exception) -> None:
        self.grows, self.damage = False, str(error)
