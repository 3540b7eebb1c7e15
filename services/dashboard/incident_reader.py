"""Reads incidents up to any moment: on from the newest one asked for, or from the nearest book that was kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from bus.events import read_entry
from bus.port import StoredMessage
from projections.incidents.book import IncidentBook
from projections.incidents.history import READS
from services.dashboard.archive import Archive
from services.dashboard.cycle_json import Json
from services.dashboard.places import incidents_json
from services.dashboard.turns import Turns

BETWEEN = 64
"""Messages after which whoever waits for a moment has a turn."""
Read = Callable[[int, int, Sequence[str]], AsyncIterator[StoredMessage]]


class IncidentReader:
    """Incidents of one log, for one question at a time."""

    def __init__(self, read: Read, archive: Callable[[], Archive], turns: Turns) -> None:
        """Read with `read(first, last, patterns)` what no book tells that the archive has by then."""
        self._read = read
        self._archive = archive
        self._turns = turns
        self._one_at_a_time = asyncio.Lock()
        self._seq, self._book = 0, IncidentBook()
        self._told: list[Json] | None = None

    async def incidents(self, until_seq: int) -> Json:
        """Return the incidents up to a position, newest first, each with the recorded times of its damage, and how
        many older ones are not held.
        """
        async with self._one_at_a_time:
            if self._told is None or until_seq != self._seq:
                await self._tell(until_seq)
            return {"incidents": self._told, "forgotten": self._book.forgotten}

    async def _tell(self, until_seq: int) -> None:
        seq, book, archive = self._seq, self._book, self._archive()
        books = archive.incidents
        if not books.seq_before(until_seq) <= seq <= until_seq:
            seq, book = books.before(until_seq)
        # Whoever asked may go meanwhile: a book of which half is read is nobody's.
        self._seq, self._book, self._told = 0, IncidentBook(), None
        await self._read_on(book, seq + 1, until_seq)
        told = await asyncio.to_thread(incidents_json, book, archive.ms_at_cluster_time)
        self._seq, self._book, self._told = until_seq, book, told

    async def _read_on(self, book: IncidentBook, first_seq: int, until_seq: int) -> None:
        batch: list[StoredMessage] = []
        async for message in self._read(first_seq, until_seq, READS):
            batch.append(message)
            if len(batch) == BETWEEN:
                await asyncio.to_thread(_add_all, book, batch)
                batch = []
                await self._turns.after_short()
        await asyncio.to_thread(_add_all, book, batch)


def _add_all(book: IncidentBook, messages: Sequence[StoredMessage]) -> None:
    """Let a book take in messages; thousands take a processor a second, so a thread does it."""
    for message in messages:
        event = read_entry(message).event
        if event is not None:
            book.add(event)
