"""Incidents as the log is read, packed at intervals in a file, so that those of any moment are near."""

from __future__ import annotations

from array import array
from bisect import bisect_right

from projections.incidents.book import IncidentBook
from services.dashboard.arrival import ReceivedMessage
from services.dashboard.packing import packed, unpacked
from services.dashboard.scratch import NewScratch, Scratch

EVERY_POSITIONS = 4_096
"""Positions between two packed books, at first."""
MOST_BOOKS = 96
"""Packed books; when there are more, every second one goes and the distance doubles. What goes stays in the file, which
grows by half as much again each time that the log becomes twice as long.
"""


class IncidentBooks:
    """The book of the newest moment, and packed ones before it."""

    def __init__(self, new_file: NewScratch) -> None:
        self._seq, self._newest = 0, IncidentBook()
        self._every = EVERY_POSITIONS
        self._tried_seq = 0
        self._new_file = new_file
        self._file: Scratch | None = None
        self._kept_seqs = array("q")
        self._kept: list[tuple[int, int]] = []
        """Where in the file each one is, and how many bytes it has."""

    def add(self, arrival: ReceivedMessage) -> None:
        """Take in one message."""
        event = arrival.event or arrival.placements
        if event is not None:
            self._newest.add(event)
        self._seq = arrival.seq
        if self._seq >= self._tried_seq + self._every:
            self._keep()
            self._tried_seq = self._seq

    def seq_before(self, seq: int) -> int:
        """Return the position up to which the book tells that `before` gives."""
        if seq >= self._seq:
            return self._seq
        place = bisect_right(self._kept_seqs, seq)
        return self._kept_seqs[place - 1] if place else 0

    def before(self, seq: int) -> tuple[int, IncidentBook]:
        """Return a book of one's own that is not behind a position, the nearest, and the position up to which it tells;
        an empty one at 0 where there is none.
        """
        if seq >= self._seq:
            return self._seq, self._newest.copy()
        place = bisect_right(self._kept_seqs, seq)
        if not place or self._file is None:
            return 0, IncidentBook()
        book: IncidentBook = unpacked(self._file.read(*self._kept[place - 1]))
        return self._kept_seqs[place - 1], book

    def _keep(self) -> None:
        content = packed(self._newest)
        try:
            self._file = self._file or self._new_file()
            offset = self._file.size_bytes
            self._file.append(content)
        except OSError:  # no room: this one is not kept
            return
        self._kept_seqs.append(self._seq)
        self._kept.append((offset, len(content)))
        if len(self._kept) > MOST_BOOKS:
            self._kept_seqs, self._kept = self._kept_seqs[1::2], self._kept[1::2]
            self._every *= 2
