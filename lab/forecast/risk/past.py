"""What had happened before each row, counted from the events themselves.

Baselines, first failures and unseen jobs must not depend on the features that they are there to
judge, so they are counted here: events with time strictly less than the row's time, ties at the
same microsecond excluded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lab.forecast.risk.metrics import Ints

SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST = range(7)
ENDS = (EVICT, FAIL, FINISH, KILL, LOST)
NEVER = np.int64(2**62)
"""A time that no event reaches."""


@dataclass(frozen=True, slots=True)
class Events:
    """Task events as equal-length columns, any order."""

    time_us: Ints
    kind: npt.NDArray[np.int8]
    job: Ints
    name: Ints


class Occurrences:
    """Times of some events by key, made to be counted often."""

    def __init__(self, keys: Ints, times_us: Ints) -> None:
        """Take the events' keys (jobs or names) and times."""
        self._keys = np.unique(keys)
        # One number per event orders by key, then time; one search then counts a key's past.
        self._span = int(times_us.max(initial=0)) + 2
        self._ordered = np.sort(np.searchsorted(self._keys, keys) * self._span + times_us)

    def before(self, keys: Ints, times_us: Ints) -> Ints:
        """Return for each (key, time) how many of the key's events came strictly earlier."""
        if not len(self._keys):
            return np.zeros(len(keys), dtype=np.int64)
        codes = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        capped = np.minimum(times_us, self._span - 1)
        first = np.searchsorted(self._ordered, codes * self._span)
        positions = np.searchsorted(self._ordered, codes * self._span + capped)
        return np.where(self._keys[codes] == keys, positions - first, 0).astype(np.int64)


@dataclass(frozen=True, slots=True)
class FirstTimes:
    """The earliest time of each key."""

    keys: Ints
    times_us: Ints

    def of(self, keys: Ints) -> Ints:
        """Return each key's earliest time; `NEVER` for a key without any."""
        if not len(self.keys):
            return np.full(len(keys), NEVER)
        codes = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[codes] == keys, self.times_us[codes], NEVER)


def first_times(keys: Ints, times_us: Ints) -> FirstTimes:
    """Return the earliest time of every key."""
    order = np.lexsort((times_us, keys))
    named, firsts = np.unique(keys[order], return_index=True)
    return FirstTimes(named.astype(np.int64), times_us[order][firsts].astype(np.int64))


class JobCounts:
    """Counts of a history, by job and by logical job name."""

    def __init__(self, events: Events) -> None:
        """Take the whole history; what each row may know is cut off at its own time."""
        failed = events.kind == FAIL
        started = events.kind == SCHEDULE
        ended = np.isin(events.kind, ENDS)
        named = events.name >= 0
        self.first_event = first_times(events.job, events.time_us)
        self._first_failure = first_times(events.job[failed], events.time_us[failed])
        self._job_failures = Occurrences(events.job[failed], events.time_us[failed])
        self._job_starts = Occurrences(events.job[started], events.time_us[started])
        self._name_failures = Occurrences(
            events.name[failed & named], events.time_us[failed & named]
        )
        self._name_ends = Occurrences(events.name[ended & named], events.time_us[ended & named])

    def job_rate(self, jobs: Ints, times_us: Ints, prior: float) -> npt.NDArray[np.float64]:
        """Return (FAILs of the job so far + prior) / (SCHEDULEs of the job so far + 1)."""
        failures = self._job_failures.before(jobs, times_us)
        return (failures + prior) / (self._job_starts.before(jobs, times_us) + 1.0)

    def name_rate(self, names: Ints, times_us: Ints, prior: float) -> npt.NDArray[np.float64]:
        """Return (FAILs of the logical name so far + prior) / (its ends so far + 1)."""
        failures = self._name_failures.before(names, times_us)
        return (failures + prior) / (self._name_ends.before(names, times_us) + 1.0)

    def before_first_failure(self, jobs: Ints, times_us: Ints) -> npt.NDArray[np.bool_]:
        """Return whether the job had not failed yet, strictly before the row."""
        return self._first_failure.of(jobs) >= times_us
