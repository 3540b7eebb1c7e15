"""A ledger: per key, what had been counted after each of its events.

Problem: "failures of this job until then" is wanted for any moment, for millions of rows, while
events keep coming and memory must not grow with them.

One row per (key, event), sorted by key, then time. A row holds absolute numbers (totals, the last
value of each mark, the outcomes of the last 64 ends as bits), so a later piece continues from the
last row alone, and a row is found by one binary search. All numbers are whole: how the events were
cut into pieces cannot be seen in them. Rows that no window can reach any more are dropped but for
the last one of each key.

Forgetting: a key that had no event for longer than `idle_us`, and nothing running, is new again at
its next event. The rule is in the numbers themselves, whether or not memory was ever freed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from features.history.outcomes import outcome_bits
from features.history.tables import I8, I64, U64, Flags, Selection, gather_rows

UNKNOWN = -1
"""The value of a mark that was never set; in a step: this event does not set it."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Increments of each event to its key, in order of time.

    `totals` are added up (rows, totals), `marks` replace the value before unless -1 (rows, marks),
    `outcome` is -1 for no end, 0 for an end without failure, 1 for a failure.
    """

    key: I64
    time_us: I64
    totals: I64
    marks: I64
    outcome: I8

    def rows(self, selection: Selection) -> Steps:
        """Return the chosen rows."""
        return Steps(
            self.key[selection],
            self.time_us[selection],
            self.totals[selection],
            self.marks[selection],
            self.outcome[selection],
        )


@dataclass(frozen=True, slots=True)
class Ledger:
    """Rows sorted by (key, time): after each event, what is known of its key."""

    idle_us: int
    running: int
    """Column of `totals` that keeps a key from being forgotten while it is above 0; -1: none."""
    key: I64
    time_us: I64
    first_us: I64
    """Time of the key's first event since it was last forgotten."""
    totals: I64
    marks: I64
    outcomes: U64
    """Bit j: whether the end before the last j ends was a failure."""

    @classmethod
    def empty(cls, totals: int, marks: int, idle_us: int, running: int = -1) -> Ledger:
        """Return a ledger without rows, with that many columns of totals and marks."""
        none = np.empty(0, dtype=np.int64)
        return cls(
            idle_us=idle_us,
            running=running,
            key=none,
            time_us=none,
            first_us=none,
            totals=np.empty((0, totals), dtype=np.int64),
            marks=np.empty((0, marks), dtype=np.int64),
            outcomes=np.empty(0, dtype=np.uint64),
        )

    def __len__(self) -> int:
        return len(self.key)

    def extend(self, steps: Steps) -> tuple[Ledger, Ledger, I64]:
        """Return the ledger after `steps`, only their rows, and which step each of those is."""
        fresh, order = self.continue_rows(steps)
        return self._merge(fresh), fresh, order

    def continue_rows(self, steps: Steps) -> tuple[Ledger, I64]:
        """Return only the rows that `steps` would add, and which step each of them is."""
        order = np.lexsort((steps.key,))
        return self._continue_rows(steps.rows(order)), order

    def trim(self, now_us: int, keep_us: int, most_keys: int | None = None) -> Ledger:
        """Return what anchors at `now_us` or later can reach with windows of `keep_us` at most.

        Of the keys without an event in that window at most `most_keys` stay: those that run
        something, then those whose last event is newest.
        """
        if not len(self):
            return self
        bound = now_us - keep_us
        last = np.append(self.key[1:] != self.key[:-1], True)
        next_us = np.append(self.time_us[1:], 0)
        reachable = (self.time_us >= bound) | last | (next_us >= bound)
        ends = np.flatnonzero(last)
        stays = ~self.forgotten(ends, np.int64(now_us))
        if most_keys is not None:
            stays &= self._newest_keys(ends, bound, most_keys)
        sizes = np.diff(ends, prepend=-1)
        return self.rows(np.flatnonzero(reachable & np.repeat(stays, sizes)))

    def before(self, time_us: int) -> Ledger:
        """Return each key's newest row before a time: what the events since then continue from."""
        older = self.rows(np.flatnonzero(self.time_us < time_us))
        return older.rows(
            np.flatnonzero(np.append(older.key[1:] != older.key[:-1], len(older) > 0))
        )

    def _newest_keys(self, ends: I64, bound: int, most_keys: int) -> Flags:
        quiet = np.flatnonzero(self.time_us[ends] < bound)
        idle = np.zeros(len(quiet), dtype=np.bool_)
        if self.running >= 0:
            idle = self.totals[ends[quiet], self.running] <= 0
        order = np.lexsort((self.key[ends[quiet]], -self.time_us[ends[quiet]], idle))
        stays = np.ones(len(ends), dtype=np.bool_)
        stays[quiet[order[most_keys:]]] = False
        return stays

    def forgotten(self, index: I64, time_us: I64 | np.int64) -> Flags:
        """Return whether the key of each row has been forgotten by a time, if nothing came since."""
        idle: Flags = time_us - self.time_us[index] > self.idle_us
        if self.running >= 0:
            idle &= self.totals[index, self.running] <= 0
        return idle

    def last_rows(self, keys: I64) -> I64:
        """Return the position of each key's newest row, -1 for none."""
        if not len(self):
            return np.full(len(keys), -1, dtype=np.int64)
        index = np.searchsorted(self.key, keys, side="right") - 1
        return np.where(self.key[np.maximum(index, 0)] == keys, index, -1)

    def rows(self, index: I64) -> Ledger:
        """Return the chosen rows; they stay sorted."""
        return replace(
            self,
            key=self.key[index],
            time_us=self.time_us[index],
            first_us=self.first_us[index],
            totals=self.totals[index],
            marks=self.marks[index],
            outcomes=self.outcomes[index],
        )

    def _continue_rows(self, steps: Steps) -> Ledger:
        """Return the rows of steps sorted by (key, time), each key continued from its last row."""
        count = len(steps.key)
        if not count:
            return self.rows(np.empty(0, dtype=np.int64))
        key_start = np.append(True, steps.key[1:] != steps.key[:-1])
        heads = np.flatnonzero(key_start)
        key_number = np.cumsum(key_start) - 1
        base = self.last_rows(steps.key[heads])
        sums = np.cumsum(steps.totals, axis=0)
        start = key_start | self._pauses(steps, heads, base, key_number, sums)
        number = np.cumsum(start) - 1
        first = np.flatnonzero(start)
        carried = np.where(key_start[first], base[key_number[first]], -1)
        known = np.flatnonzero(carried >= 0)
        forgotten = self.forgotten(carried[known], steps.time_us[first[known]])
        carried[known[forgotten]] = -1

        offset = gather_rows(self.totals, carried, 0) - sums[first] + steps.totals[first]
        begun = np.where(carried >= 0, gather_rows(self.first_us, carried, 0), steps.time_us[first])
        return replace(
            self,
            key=steps.key,
            time_us=steps.time_us,
            first_us=begun[number],
            totals=sums + offset[number],
            marks=_fill_marks(
                steps.marks, first, number, gather_rows(self.marks, carried, UNKNOWN)
            ),
            outcomes=outcome_bits(
                steps.outcome, first, number, gather_rows(self.outcomes, carried, 0)
            ),
        )

    def _pauses(self, steps: Steps, heads: I64, base: I64, key_number: I64, sums: I64) -> Flags:
        """Return where a key was idle for so long, inside the steps, that it starts anew."""
        pause: Flags = np.diff(steps.time_us, prepend=steps.time_us[0]) > self.idle_us
        if self.running >= 0:
            column = self.running
            runs = sums[:, column] - (sums[heads, column] - steps.totals[heads, column])[key_number]
            if len(self):
                runs += np.where(base >= 0, self.totals[base, column], 0)[key_number]
            pause[1:] &= runs[:-1] <= 0
        pause[heads] = False
        return pause

    def _merge(self, fresh: Ledger) -> Ledger:
        """Return both ledgers' rows; every row of `fresh` is newer than its key's rows here."""
        if not len(self) or not len(fresh):
            return fresh if not len(self) else self
        place = np.searchsorted(self.key, fresh.key, side="right") + np.arange(len(fresh))
        old = np.ones(len(self) + len(fresh), dtype=np.bool_)
        old[place] = False
        columns: dict[str, Any] = {}
        for name in ("key", "time_us", "first_us", "totals", "marks", "outcomes"):
            mine, theirs = getattr(self, name), getattr(fresh, name)
            whole = np.empty((len(old), *mine.shape[1:]), dtype=mine.dtype)
            whole[old] = mine
            whole[place] = theirs
            columns[name] = whole
        return replace(self, **columns)


def _fill_marks(marks: I64, first: I64, number: I64, carried: I64) -> I64:
    """Return each mark's newest value so far in its run; `carried` is a run's value before it."""
    rows = np.arange(len(marks))[:, np.newaxis]
    newest = np.maximum.accumulate(np.where(marks != UNKNOWN, rows, -1), axis=0)
    inside = newest >= first[number][:, np.newaxis]
    values = np.take_along_axis(marks, np.maximum(newest, 0), axis=0)
    return np.where(inside, values, carried[number])
