"""One block of columns per key: what is counted under it, over which windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from features.history.derived import DERIVED, Known
from features.history.feature import Feature
from features.history.ledger import UNKNOWN, Ledger
from features.history.lookup import Lookup
from features.history.steps import BEFORE_THE_TRACE_US, MARK, TOTAL
from features.history.tables import F32, F64, I64, gather_rows

MINUTE_US = 60_000_000
COUNTED: Mapping[str, str] = {
    "submits": "SUBMIT events",
    "starts": "SCHEDULE events",
    "evicts": "EVICT events",
    "fails": "FAIL events",
    "finishes": "FINISH events",
    "kills": "KILL events",
    "quick_fails": "FAIL events within 15 min of their own SCHEDULE",
    "quick_ends": "ends within 15 min of their own SCHEDULE",
    "failed_tasks": "tasks that failed for the first time",
    "failed_jobs": "jobs that failed for the first time",
    "new_tasks": "tasks that started for the first time",
    "new_jobs": "jobs that started for the first time",
}
ABOUT: Mapping[str, str] = {
    "task": "this task",
    "job": "the job's tasks",
    "user": "the user's tasks",
    "name": "tasks of jobs with this logical name",
    "machine": "tasks on this machine",
    "cell": "all tasks",
    "shape": "the user's tasks with exactly these requests, priority and class",
    "place": "tasks with this number in jobs with this logical name",
    "slot": "tasks with this number and this shape",
    "user_jobs": "the user's jobs as a whole",
    "name_jobs": "jobs with this logical name as a whole",
}


@dataclass(frozen=True, slots=True)
class Block:
    """The columns of one key, in the order of the fields."""

    key: str
    counts: tuple[str, ...] = ()
    """Totals since the key was first seen."""
    windowed: tuple[str, ...] = ()
    windows: tuple[int, ...] = ()
    """Minutes; each counts the events of [t - window, t)."""
    since: tuple[str, ...] = ()
    """Kinds whose last time is given as seconds ago."""
    derived: tuple[str, ...] = ()

    def features(self) -> tuple[Feature, ...]:
        """Return the block's columns."""
        about = ABOUT[self.key]
        rows = [(name, "events", f"{COUNTED[name]} so far, {about}") for name in self.counts]
        for minutes in self.windows:
            rows += [
                (
                    f"{name}_{minutes}m",
                    "events",
                    f"{COUNTED[name]} in the last {minutes} min, {about}",
                )
                for name in self.windowed
            ]
        rows += [
            (f"since_{name}_seconds", "seconds", f"time since the last {name.upper()}, {about}")
            for name in self.since
        ]
        rows += [
            (name, DERIVED[name].unit, f"{DERIVED[name].meaning}, {about}") for name in self.derived
        ]
        source = "jobs" if self.key.endswith("_jobs") else "attempts"
        return tuple(
            Feature(f"{self.key}_{name}", unit, self.key, source, meaning)
            for name, unit, meaning in rows
        )

    @property
    def width(self) -> int:
        """Return the number of columns."""
        rest = len(self.counts) + len(self.since) + len(self.derived)
        return rest + len(self.windows) * len(self.windowed)

    def values(self, ledger: Ledger, keys: I64, time_us: I64) -> F32:
        """Return (keys, width): what was known of each key strictly before its time.

        A key without any event has counts of 0 and NaN for the rest; key -1 is NaN throughout.
        """
        out = np.empty((len(keys), self.width), dtype=np.float32)
        if not len(keys):
            return out
        longest = max(self.windows, default=0) * MINUTE_US
        floor, last = int(time_us.min()) - longest, int(time_us.max())
        lookup = Lookup.over(ledger, keys, floor, last)
        index = lookup.alive_before(time_us)
        totals = gather_rows(ledger.totals, index, 0)
        first_us = gather_rows(ledger.first_us, index, UNKNOWN)
        column = len(self.counts)
        out[:, :column] = totals[:, [TOTAL[name] for name in self.counts]]

        chosen = [TOTAL[name] for name in self.windowed]
        for minutes in self.windows:
            begin = time_us - minutes * MINUTE_US
            earlier = gather_rows(ledger.totals[:, chosen], self._base(lookup, first_us, begin), 0)
            out[:, column : column + len(chosen)] = totals[:, chosen] - earlier
            column += len(chosen)

        marks = gather_rows(ledger.marks, index, UNKNOWN)
        times = marks[:, [MARK[f"{name}_us"] for name in self.since]]
        out[:, column : column + len(self.since)] = _since(time_us, times)
        column += len(self.since)

        known = Known(time_us, first_us, totals, marks, gather_rows(ledger.outcomes, index, 0))
        for place, name in enumerate(self.derived, start=column):
            out[:, place] = DERIVED[name].compute(known)
        out[keys < 0] = np.nan
        return out

    def _base(self, lookup: Lookup, first_us: I64, begin: I64) -> I64:
        """Return the row before each window, -1 where all of the key's events lie inside it."""
        inside = (first_us < 0) | (first_us >= begin)
        return np.where(inside, -1, lookup.before(begin))


def _since(time_us: I64, marks: I64) -> F64:
    seconds = (time_us[:, np.newaxis] - marks) / 1e6
    return np.where(marks > BEFORE_THE_TRACE_US, seconds, np.nan)


_KINDS = ("submits", "starts", "evicts", "fails", "finishes", "kills")
_QUICK = ("quick_fails", "quick_ends")
_DISTINCT = ("failed_tasks", "failed_jobs")
_SINCE = ("submit", "start", "evict", "fail", "finish", "kill")
_DURATIONS = (
    "last_duration_seconds",
    "last_fail_duration_seconds",
    "mean_log2_duration",
    "mean_log2_fail_duration",
)
_RATES = ("fails_per_start", "fails_per_end", "quick_fails_per_start", "recent_fail_rate")
_FIRST_FAILURES = ("clean_fail_rate", "failed_task_share", "failed_job_share")
_WINDOWS = (5, 15, 60)


def _everything(key: str) -> Block:
    counted = (*_KINDS, *_QUICK, *_DISTINCT)
    derived = ("running", "last_end_kind", *_DURATIONS, *_RATES, *_FIRST_FAILURES)
    return Block(key, (*counted, "new_jobs"), counted, _WINDOWS, _SINCE, derived)


def _across_jobs(key: str) -> Block:
    """Return the columns of a task's counterparts in other jobs: does this very part crash?"""
    counted = ("starts", "fails", "finishes", *_QUICK, "failed_tasks", "new_tasks")
    derived = ("last_end_kind", *_DURATIONS, *_RATES, "clean_fail_rate", "failed_task_share")
    return Block(key, counted, (), (), ("start", "fail"), derived)


def _whole_jobs(key: str) -> Block:
    counted = ("fails", "finishes", "kills")
    derived = ("last_end_kind", "fails_per_end", "recent_fail_rate")
    return Block(key, ("starts", *counted), counted, (360,), ("start", "fail"), derived)


FULL_BLOCKS: tuple[Block, ...] = (
    Block(
        "task",
        (*_KINDS, *_QUICK),
        ("starts", "fails"),
        _WINDOWS,
        _SINCE,
        ("last_end_kind", *_DURATIONS, *_RATES, "age_seconds"),
    ),
    Block(
        "job",
        (*_KINDS, *_QUICK, "failed_tasks"),
        (*_KINDS, *_QUICK, "failed_tasks"),
        _WINDOWS,
        _SINCE,
        ("running", "last_end_kind", *_DURATIONS, *_RATES, "failed_task_share", "age_seconds"),
    ),
    _everything("user"),
    _everything("name"),
    _everything("machine"),
    _everything("shape"),
    _across_jobs("place"),
    _across_jobs("slot"),
    Block(
        "cell",
        (),
        (*_KINDS, *_QUICK, *_DISTINCT),
        _WINDOWS,
        ("fail",),
        ("last_end_kind", "mean_log2_duration", *_RATES, *_FIRST_FAILURES),
    ),
    _whole_jobs("user_jobs"),
    _whole_jobs("name_jobs"),
)

LIVE_BLOCKS: tuple[Block, ...] = (
    Block(
        "job",
        (*_KINDS[1:], *_QUICK),
        (*_KINDS[1:], *_QUICK),
        _WINDOWS,
        _SINCE[1:],
        ("running", "last_end_kind", *_DURATIONS, *_RATES, "age_seconds"),
    ),
    Block(
        "user",
        (),
        (*_KINDS[1:], *_QUICK, "failed_jobs"),
        _WINDOWS,
        _SINCE[1:],
        ("last_end_kind", *_DURATIONS, *_RATES),
    ),
    Block(
        "machine",
        (),
        (*_KINDS[1:], *_QUICK, "failed_jobs"),
        _WINDOWS,
        _SINCE[1:],
        ("running", "last_end_kind", *_DURATIONS, *_RATES),
    ),
    Block("cell", (), ("starts", "fails", *_QUICK, "failed_jobs"), _WINDOWS, ("fail",), _RATES),
)

HAZARD_BLOCKS: tuple[Block, ...] = (
    Block(
        "job",
        ("fails",),
        ("starts", "fails", "finishes", "kills", "quick_fails"),
        _WINDOWS,
        _SINCE[1:],
        ("running", "last_end_kind", *_DURATIONS, *_RATES, "age_seconds"),
    ),
    Block(
        "user",
        (),
        ("starts", "fails", "failed_jobs"),
        _WINDOWS,
        ("fail",),
        (*_DURATIONS, *_RATES),
    ),
    Block("machine", (), ("fails",), _WINDOWS, ("fail",), ("fails_per_end", "recent_fail_rate")),
)
"""Few columns that mean the same of every job: more of them let a model learn single jobs by heart."""
