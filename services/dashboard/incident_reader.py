"""Reads incidents up to any moment: on from the newest one asked for, or back from a packed book that is near it."""

from __future__ import annotations

import asyncio
import pickle
import zlib
from array import array
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Sequence

from bus.events import read_entry
from bus.port import StoredMessage
from projections.incidents.book import IncidentBook
from projections.incidents.history import READS
from services.dashboard.cycle_json import Json
from services.dashboard.places import incidents_json
from services.dashboard.turns import Turns

BETWEEN = 64
"""Messages after which whoever waits for a moment has a turn."""
EVERY_POSITIONS = 4_096
"""Positions between two packed books, at first."""
MOST_BOOKS = 24
"""Packed books; when there are more, every second one goes and the distance doubles."""
Read = Callable[[int, int, Sequence[str]], AsyncIterator[StoredMessage]]


class IncidentReader:
    """Incidents of one log, for one question at a time."""

    def __init__(
        self, read: Read, recorded_ms: Callable[[float], int | None], turns: Turns
    ) -> None:
        """Read with `read(first, last, patterns)`; `recorded_ms` says when a cluster time was recorded."""
        self._read = read
        self._recorded_ms = recorded_ms
        self._turns = turns
        self._one_at_a_time = asyncio.Lock()
        self._seq, self._book = 0, IncidentBook()
        self._told: list[Json] = []
        self._told_seq = 0
        self._every = EVERY_POSITIONS
        self._kept_seqs = array("q")
        self._kept: list[bytes] = []

    async def incidents(self, until_seq: int) -> Json:
        """Return the incidents up to a position, newest first, each with the recorded times of its damage, and how
        many older ones are not held.
        """
        async with self._one_at_a_time:
            if until_seq != self._told_seq:
                if until_seq < self._seq:
                    await asyncio.to_thread(self._go_back, until_seq)
                await self._read_on(until_seq)
                self._told = await asyncio.to_thread(incidents_json, self._book, self._recorded_ms)
                self._seq = self._told_seq = until_seq
            return {"incidents": self._told, "forgotten": self._book.forgotten}

    async def _read_on(self, until_seq: int) -> None:
        batch: list[StoredMessage] = []
        async for message in self._read(self._seq + 1, until_seq, READS):
            batch.append(message)
            if len(batch) == BETWEEN:
                await asyncio.to_thread(self._take, batch)
                batch = []
                await self._turns.after_short()
        await asyncio.to_thread(self._take, batch)

    def _take(self, messages: Sequence[StoredMessage]) -> None:
        """Take in messages; a day of them takes a processor seconds, so a thread does it."""
        for message in messages:
            event = read_entry(message).event
            if event is not None:
                self._book.add(event)
        if not messages:
            return
        self._seq = messages[-1].seq
        newest = self._kept_seqs[-1] if self._kept_seqs else 0
        if self._seq >= newest + self._every:
            self._keep()

    def _keep(self) -> None:
        packed = zlib.compress(pickle.dumps(self._book, pickle.HIGHEST_PROTOCOL), 1)
        self._kept_seqs.append(self._seq)
        self._kept.append(packed)
        if len(self._kept) > MOST_BOOKS:
            self._kept_seqs, self._kept = self._kept_seqs[1::2], self._kept[1::2]
            self._every *= 2

    def _go_back(self, until_seq: int) -> None:
        """Take the newest packed book that is not behind a position, else an empty one."""
        place = bisect_right(self._kept_seqs, until_seq)
        self._seq, self._book = 0, IncidentBook()
        if place:
            self._seq = self._kept_seqs[place - 1]
            self._book = pickle.loads(zlib.decompress(self._kept[place - 1]))  # noqa: S301 - packed here
