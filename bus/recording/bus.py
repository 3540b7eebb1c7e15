"""A recording as a bus that only reads: what reads a stack's log reads a file by the same code.

Messages are read from the file when they are asked for, by an index of 16 bytes a message; only the frames read last
stay in memory. Positions may have gaps (a cut keeps the original ones), and nothing new ever comes.
"""

from __future__ import annotations

import asyncio
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from bus.errors import BusUnavailable, Permanent, RecordingDamaged
from bus.ordered_read import matches_any
from bus.port import Heartbeats, LogInfo, Message, Messages, StoredMessage
from bus.recording.format import read_message
from bus.recording.frames import read_frames
from bus.recording.reader import Recording, open_recording

BATCH = 64
"""Messages after which a reader lets others have their turn."""
KEPT_FRAMES = 32
"""Frames whose lines are held, those that were asked for last; one has a mebibyte, rarely two."""


class RecordingIndex:
    """Where each message of a recording stands, and of which subject it is."""

    def __init__(self, recording: Recording) -> None:
        """Read and prove the whole recording once."""
        self.seqs = array("q")
        self.subjects: list[str] = []
        """Each subject once."""
        self.subject_of = array("I")
        """By message, its place in `subjects`."""
        self.newest: dict[str, int] = {}
        """By subject, the place of its newest message."""
        self.frame_of = array("I")
        """By message, the place of its frame."""
        self.offsets = array("q")
        """By frame, where it begins in the file,"""
        self.firsts = array("I")
        """and the place of its first message."""
        self.size_bytes = 0
        numbers: dict[str, int] = {}
        for content in recording.whole_frames():
            self.offsets.append(content.offset)
            self.firsts.append(len(self.seqs))
            for message in content.messages:
                number = numbers.setdefault(message.subject, len(numbers))
                self.newest[message.subject] = len(self.seqs)
                self.seqs.append(message.seq)
                self.subject_of.append(number)
                self.frame_of.append(len(self.offsets) - 1)
                self.size_bytes += len(message.data)
        self.subjects = list(numbers)

    def __len__(self) -> int:
        """Return how many messages there are."""
        return len(self.seqs)


class RecordingBus:
    """Implements the reading half of `bus.port.Bus` over one file."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            InputError: it is no recording.
        """
        recording = open_recording(path)
        self.header = recording.header
        self._path = path
        self._index = RecordingIndex(recording)
        self._lines: OrderedDict[int, list[bytes]] = OrderedDict()
        """Message lines by the place of their frame."""
        self.damage = recording.damage
        """Why reading ended early; empty when it did not."""

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
        index = self._index
        begin, end = bisect_left(index.seqs, start_seq), len(index)
        if end_seq is not None:
            end = bisect_right(index.seqs, end_seq)
        wanted = {
            number for number, name in enumerate(index.subjects) if matches_any(subjects, name)
        }
        for place in range(begin, end):
            if place % BATCH == 0:
                await asyncio.sleep(0)
            if index.subject_of[place] in wanted:
                yield self._message(place)

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        place = self._index.newest.get(subject)
        return None if place is None else self._message(place)

    async def info(self) -> LogInfo:
        """Return the recording in numbers; an empty one ends before it begins."""
        seqs = self._index.seqs
        first, last = (seqs[0], seqs[-1]) if seqs else (1, 0)
        return LogInfo(first, last, len(seqs), self._index.size_bytes, -1, 0.0)

    async def send_heartbeat(self, process: str, payload: bytes) -> None:
        """Do nothing: nobody listens."""

    async def heartbeats(self, process: str = "*") -> Heartbeats:
        """Wait without end: nobody is alive in a recording."""
        await asyncio.Event().wait()
        yield process, b""

    async def close(self) -> None:
        """Let the messages go."""
        self._lines.clear()

    def _message(self, place: int) -> StoredMessage:
        """Return one message.

        Raises:
            BusUnavailable: the file is not any more what it was when it was opened.
        """
        frame = self._index.frame_of[place]
        try:
            message = read_message(self._lines_of(frame)[place - self._index.firsts[frame]])
        except (OSError, RecordingDamaged, ValueError, IndexError) as error:
            raise BusUnavailable(f"{self._path.name} changed after it was opened") from error
        return message

    def _lines_of(self, frame: int) -> list[bytes]:
        """Return the message lines of a frame, which was proven when the file was opened."""
        if (known := self._lines.get(frame)) is not None:
            self._lines.move_to_end(frame)
            return known
        with self._path.open("rb") as file:
            file.seek(self._index.offsets[frame])
            read = next(read_frames(file), None)
        if read is None:
            raise RecordingDamaged("it ends there")
        lines = read.text.split(b"\n")[:-2]  # the last one is the trailer
        self._lines[frame] = lines = lines[1:] if read.offset == 0 else lines  # behind the header
        if len(self._lines) > KEPT_FRAMES:
            self._lines.popitem(last=False)
        return lines
