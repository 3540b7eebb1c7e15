"""States of the page at intervals of the log, in files without a name, so that any moment is near one.

A state as objects weighs some megabytes, packed some ten kilobytes. Most of it are the records of cycles, and from one
state to the next most of these stay as they were: a record is packed when it is new or has changed, and the states that
have it share what was packed, in the row of states that are nearest to one another.

There are rows of states, each with its own distance between two. Of a row the newest are kept, as many as fit: moments
of late are near a state however long the log, and older ones are a longer way from one of a wider row. The files take
at most `MOST_BYTES` for each row; where the disk has no room for that, a row keeps what there is room for.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from dataclasses import replace
from typing import Any

from projections.cycle_record import CycleRecord
from services.dashboard.packing import packed, unpacked
from services.dashboard.page import Page
from services.dashboard.scratch import NewScratch, Scratch

EVERY_MESSAGES = (128, 4_096, 65_536)
"""Messages between two kept states, of each row."""
MOST_BYTES = 128 * 1024**2
"""Of one row on disk. A day of 100 nodes takes 30 MB of the first row."""

_Place = tuple[int, int]
"""Where something is in a file, and how many bytes it has."""


class KeptStates:
    """Packed states of one log, in files that the argument makes."""

    def __init__(self, new_file: NewScratch) -> None:
        nearest = min(EVERY_MESSAGES)
        # States that are far apart have few records in common, and what is shared must stay in memory to be known.
        self._rows = [_Row(every, new_file, shares=every == nearest) for every in EVERY_MESSAGES]

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(len(file) for file in self._files())

    @property
    def size_bytes(self) -> int:
        """How much of the disk they take."""
        return sum(file.size_bytes for file in self._files())

    def offer(self, place: int, page: Page) -> None:
        """Keep the state after the message at a place, from 0, if it is one of those between which others lie."""
        for row in self._rows:
            if place % row.every == 0:
                row.add(page)

    def seq_before(self, seq: int) -> int:
        """Return the position of the newest one that is not after a position; 0 where there is none."""
        return max((file.seq_before(seq) for file in self._files()), default=0)

    def before(self, seq: int) -> Page | None:
        """Return the newest one that is not after a position."""
        nearest = max(self._files(), key=lambda file: file.seq_before(seq), default=None)
        return None if nearest is None else nearest.before(seq)

    def _files(self) -> list[_StateFile]:
        return [file for row in self._rows for file in row.files]


class _Row:
    """The newest states of one distance, in two files: when the newer is half of what may be, the older goes."""

    def __init__(self, every: int, new_file: NewScratch, *, shares: bool) -> None:
        self.every = every
        self._shares = shares
        self.files: list[_StateFile] = []
        self._new_file = new_file
        self._full = True

    def add(self, page: Page) -> None:
        try:
            if self._full:
                self._begin_file()
            self.files[-1].add(page)
            self._full = self.files[-1].size_bytes >= MOST_BYTES // 2
        except OSError:
            # No room, or no place for files at all: this state is not kept, and the next one begins a file.
            self._full = True

    def _begin_file(self) -> None:
        file = _StateFile(self._new_file(), self._shares)
        self.files = self.files[-1:]
        for older in self.files:
            older.end()
        self.files.append(file)


class _StateFile:
    """Packed states in one file."""

    def __init__(self, file: Scratch, shares: bool) -> None:
        self._file = file
        self._shares = shares
        self._seqs = array("q")
        self._offsets = array("q")
        self._sizes = array("q")
        self._newest: dict[int, tuple[CycleRecord, _Place]] = {}
        """The records of the state that was packed last, by cycle, each with the place of what it was packed in."""

    def __len__(self) -> int:
        return len(self._seqs)

    @property
    def size_bytes(self) -> int:
        return self._file.size_bytes

    def seq_before(self, seq: int) -> int:
        place = bisect_right(self._seqs, seq)
        return self._seqs[place - 1] if place else 0

    def before(self, seq: int) -> Page | None:
        place = bisect_right(self._seqs, seq) - 1
        if place < 0:
            return None
        page, places = self._read((self._offsets[place], self._sizes[place]))
        groups = {group: self._read(group) for group in set(places.values())}
        return _with_records(page, {cycle: groups[group][cycle] for cycle, group in places.items()})

    def add(self, page: Page) -> None:
        """Write a state, and of its records those that the one written before does not have.

        Raises:
            OSError: it cannot be written; the file is as before.
        """
        records = page.overview.cycles.by_cycle
        before = self._newest
        changed = {
            cycle: one
            for cycle, one in records.items()
            if cycle not in before or before[cycle][0] is not one
        }
        group = packed(changed)
        offset = self.size_bytes
        new = (offset, len(group))
        places = {cycle: new if cycle in changed else before[cycle][1] for cycle in records}
        rest = packed((_with_records(page, {}), places))
        self._file.append(group + rest)
        self._seqs.append(page.overview.seq)
        self._offsets.append(offset + len(group))
        self._sizes.append(len(rest))
        if self._shares:
            self._newest = {cycle: (one, places[cycle]) for cycle, one in records.items()}

    def end(self) -> None:
        """Let go of what is only of use to write more."""
        self._newest = {}

    def _read(self, place: _Place) -> Any:
        return unpacked(self._file.read(*place))


def _with_records(page: Page, records: dict[int, CycleRecord]) -> Page:
    cycles = replace(page.overview.cycles, by_cycle=records)
    return replace(page, overview=replace(page.overview, cycles=cycles))
