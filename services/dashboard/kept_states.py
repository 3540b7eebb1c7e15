"""States of the page at intervals of the log, packed, so that any moment between them is near one. Of bounded size.

A state as objects weighs some megabytes, packed some ten kilobytes. Most of it are the records of cycles, and from one
state to the next most of these stay as they were: a record is packed when it is new or has changed, and the states that
have it share what was packed. When all states together are too large, every second one goes and the distance doubles:
a longer log costs longer ways between two states, not more memory.
"""

from __future__ import annotations

import pickle
import zlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any

from projections.cycle_record import CycleRecord
from services.dashboard.page import Page

EVERY_MESSAGES = 256
"""Messages between two kept states, at first."""
MOST_BYTES = 20 * 1024**2
"""Of all packed states: a day of 100 nodes takes 19 MB."""
_LEVEL = 1


@dataclass(frozen=True, slots=True)
class _State:
    rest: bytes
    """The page without the records of cycles, and the cycles that it has records of."""
    groups: tuple[bytes, ...]
    """For each of these cycles the packed records, by cycle, that its own is among."""


class KeptStates:
    """Packed states, oldest first."""

    def __init__(self) -> None:
        self.every = EVERY_MESSAGES
        """Messages between two of them now."""
        self.size_bytes = 0
        self._seqs = array("q")
        self._states: list[_State] = []
        self._newest: dict[int, tuple[CycleRecord, bytes]] = {}
        """The records of the state that was packed last, by cycle, each with what it was packed in."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._states)

    def offer(self, place: int, page: Page) -> None:
        """Keep the state after the message at a place, from 0, if it is one of those between which others lie."""
        if place % self.every:
            return
        self._seqs.append(page.overview.seq)
        self._states.append(self._state_of(page))
        while self.size_bytes > MOST_BYTES and len(self._states) > 1:
            self._seqs, self._states = self._seqs[::2], self._states[::2]
            groups = {group for state in self._states for group in state.groups}
            self.size_bytes = sum(map(len, groups)) + sum(len(state.rest) for state in self._states)
            self.every *= 2

    def seq_before(self, seq: int) -> int:
        """Return the position of the newest one that is not after a position; 0 where there is none."""
        place = bisect_right(self._seqs, seq)
        return self._seqs[place - 1] if place else 0

    def before(self, seq: int) -> Page | None:
        """Return the newest one that is not after a position."""
        place = bisect_right(self._seqs, seq)
        if not place:
            return None
        state = self._states[place - 1]
        page, cycles = _unpacked(state.rest)
        groups = {group: _unpacked(group) for group in set(state.groups)}
        records = zip(cycles, state.groups, strict=True)
        return _with_records(page, {cycle: groups[group][cycle] for cycle, group in records})

    def _state_of(self, page: Page) -> _State:
        """Pack a state, and of its records those that the one packed before does not have."""
        records = page.overview.cycles.by_cycle
        before = self._newest
        changed = {
            cycle: one
            for cycle, one in records.items()
            if cycle not in before or before[cycle][0] is not one
        }
        group, rest = _packed(changed), _packed((_with_records(page, {}), tuple(records)))
        self._newest = {
            cycle: (one, group if cycle in changed else before[cycle][1])
            for cycle, one in records.items()
        }
        self.size_bytes += len(rest) + len(group)
        return _State(rest, tuple(self._newest[cycle][1] for cycle in records))


def _with_records(page: Page, records: dict[int, CycleRecord]) -> Page:
    cycles = replace(page.overview.cycles, by_cycle=records)
    return replace(page, overview=replace(page.overview, cycles=cycles))


def _packed(content: Any) -> bytes:
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), _LEVEL)


def _unpacked(content: bytes) -> Any:
    return pickle.loads(zlib.decompress(content))  # noqa: S301 - packed here
