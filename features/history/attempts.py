"""Which attempt an event of a trace ends: since when it ran, where, with which requests.

A trace's events do not say so themselves (live a pod does), and `History` asks for it in the
column `attempt_start_us`. What is kept from piece to piece is the SCHEDULE row of every running
attempt: bounded by what runs.

Two things end an attempt without an event of their own and become LOST rows here: the task is
scheduled again although nothing ended it, or the recording broke off and a new segment begins.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from features.history.events import Kind, TaskEvents
from features.history.keys import mix_keys
from features.history.tables import I64, Flags, gather_rows

OF_THE_ATTEMPT = ("machine", "cpu_request", "memory_request")
"""What an end takes over from its SCHEDULE row, so that what was added is what is taken away."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """The SCHEDULE rows of running attempts, sorted by task."""

    key: I64
    rows: TaskEvents
    segment: int = 0

    @classmethod
    def none(cls) -> Attempts:
        """Nothing runs."""
        return cls(np.empty(0, dtype=np.int64), TaskEvents.empty())

    def resolve(self, events: TaskEvents) -> tuple[Attempts, TaskEvents]:
        """Return what runs after `events`, and the events with LOST rows and their attempts."""
        state, done = self, TaskEvents.empty()
        breaks = np.flatnonzero(np.diff(events.segment, prepend=np.int16(self.segment)))
        for start, stop in zip([0, *breaks], [*breaks, len(events)], strict=True):
            piece = events.rows(slice(start, stop))
            if len(piece) and piece.segment[0] != state.segment:
                lost = _lost_rows(state.rows, np.full(len(state.rows), piece.time_us[0]))
                done = done.concat(lost)
                state = Attempts(self.key[:0], TaskEvents.empty(), int(piece.segment[0]))
            piece = state._without_restarts(piece)
            origins = Origins.of(state, piece)
            done = done.concat(origins.with_starts(state, piece))
            state = state._after(piece, origins)
        return state, done

    def places(self, keys: I64) -> I64:
        """Return the row of each task's running attempt, -1 for none."""
        if not len(self.key):
            return np.full(len(keys), -1, dtype=np.int64)
        index = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return np.where(self.key[index] == keys, index, -1)

    def _without_restarts(self, events: TaskEvents) -> TaskEvents:
        origins = Origins.of(self, events)
        again = np.flatnonzero((events.kind == Kind.SCHEDULE) & origins.running)
        if not len(again):
            return events
        lost = _lost_rows(origins.rows(self, events).rows(again), events.time_us[again])
        place = np.concatenate([2 * np.arange(len(events)) + 1, 2 * again])
        return events.concat(lost).rows(np.lexsort((place,)))

    def _after(self, events: TaskEvents, origins: Origins) -> Attempts:
        if not len(origins.order):
            return self
        keys = origins.key[origins.order]
        last = origins.order[np.append(keys[1:] != keys[:-1], True)]
        stays = ~np.isin(self.key, origins.key[last])
        begun = last[events.kind[last] == Kind.SCHEDULE]
        key = np.concatenate([self.key[stays], origins.key[begun]])
        rows = self.rows.rows(stays).concat(events.rows(begun))
        by_key = np.lexsort((key,))
        return Attempts(key[by_key], rows.rows(by_key), self.segment)


@dataclass(frozen=True, slots=True)
class Origins:
    """Per event, where the SCHEDULE row of the attempt is that runs just before it."""

    key: I64
    """The event's task."""
    order: I64
    """Every event but SUBMIT, sorted by task, then time."""
    inside: I64
    """Row among the same events, -1: none."""
    carried: I64
    """Row among the attempts carried over, -1: none."""

    @classmethod
    def of(cls, attempts: Attempts, events: TaskEvents) -> Origins:
        """Find them, by one sort of the events."""
        key = mix_keys(events.job, events.task.astype(np.int64))
        turning = np.flatnonzero(events.kind != Kind.SUBMIT)
        order = turning[np.lexsort((key[turning],))]
        previous = np.full(len(events), -1, dtype=np.int64)
        carried = previous.copy()
        if len(order):
            follows = np.append(False, key[order[1:]] == key[order[:-1]])
            previous[order[follows]] = order[np.flatnonzero(follows) - 1]
            heads = order[~follows]
            carried[heads] = attempts.places(key[heads])
        runs = (previous >= 0) & (events.kind[previous] == Kind.SCHEDULE)
        return cls(key, order, np.where(runs, previous, -1), carried)

    @property
    def running(self) -> Flags:
        """Whether the event's task runs just before it."""
        return (self.inside >= 0) | (self.carried >= 0)

    def rows(self, attempts: Attempts, events: TaskEvents) -> TaskEvents:
        """Return the SCHEDULE rows; where nothing runs, the event's own row."""
        own = np.where(self.inside >= 0, self.inside, np.arange(len(events)))
        columns = {}
        for item in fields(TaskEvents):
            mine = getattr(events, item.name)[own]
            theirs = gather_rows(getattr(attempts.rows, item.name), self.carried, 0)
            columns[item.name] = np.where(self.carried >= 0, theirs, mine)
        return TaskEvents(**columns)

    def with_starts(self, attempts: Attempts, events: TaskEvents) -> TaskEvents:
        """Return the events, each end with its attempt's start, machine and requests."""
        ends = self.running & (events.kind > Kind.SCHEDULE)
        origin = self.rows(attempts, events)
        changed: dict[str, Any] = {
            name: np.where(ends, getattr(origin, name), getattr(events, name))
            for name in OF_THE_ATTEMPT
        }
        changed["attempt_start_us"] = np.where(ends, origin.time_us, -1)
        return _with_columns(events, changed)


def _lost_rows(rows: TaskEvents, time_us: I64) -> TaskEvents:
    changed = {
        "attempt_start_us": rows.time_us,
        "time_us": time_us,
        "kind": np.full(len(rows), Kind.LOST, dtype=np.int8),
    }
    return _with_columns(rows, changed)


def _with_columns(events: TaskEvents, changed: dict[str, Any]) -> TaskEvents:
    same = {item.name: getattr(events, item.name) for item in fields(TaskEvents)}
    return TaskEvents(**(same | changed))
