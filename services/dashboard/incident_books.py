"""Incidents as the log is read, packed at intervals, so that those of any moment are near. Pure, of bounded size."""

from __future__ import annotations

import pickle
import zlib
from array import array
from bisect import bisect_right

from projections.incidents.book import IncidentBook
from services.dashboard.arrival import ReceivedMessage

EVERY_POSITIONS = 4_096
"""Positions between two packed books, at first."""
MOST_BOOKS = 24
"""Packed books; when there are more, every second one goes and the distance doubles."""


class IncidentBooks:
    """The book of the newest moment, and packed ones before it."""

    def __init__(self) -> None:
        self._seq, self._newest = 0, IncidentBook()
        self._every = EVERY_POSITIONS
        self._kept_seqs = array("q")
        self._kept: list[bytes] = []

    def add(self, arrival: ReceivedMessage) -> None:
        """Take in one message."""
        event = arrival.event or arrival.placements
        if event is not None:
            self._newest.add(event)
        self._seq = arrival.seq
        if self._seq >= (self._kept_seqs[-1] if self._kept_seqs else 0) + self._every:
            self._keep()

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
        if not place:
            return 0, IncidentBook()
        book: IncidentBook = pickle.loads(zlib.decompress(self._kept[place - 1]))  # noqa: S301 - packed here
        return self._kept_seqs[place - 1], book

    def _keep(self) -> None:
        packed = zlib.compress(pickle.dumps(self._newest, pickle.HIGHEST_PROTOCOL), 1)
        self._kept_seqs.append(self._seq)
        self._kept.append(packed)
        if len(self._kept) > MOST_BOOKS:
            self._kept_seqs, self._kept = self._kept_seqs[1::2], self._kept[1::2]
            self._every *= 2
