"""Columns that the row itself and its machine give: requests, sizes, what is free, ages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from features.history.events import Anchors
from features.history.feature import Feature
from features.history.keys import MILLIONTHS, millionths
from features.history.ledger import UNKNOWN, Ledger
from features.history.lookup import Lookup
from features.history.steps import MACHINE_MARKS, MACHINE_TOTALS, TOTAL
from features.history.tables import F64, I64, gather_rows, quotient


@dataclass(frozen=True, slots=True)
class Own:
    """Values of a row and its machine just before the row's time. Missing is NaN."""

    anchors: Anchors
    capacity: I64
    """(rows, marks of machine events)."""
    removals: I64
    used: I64
    """(rows, 2): millionths of processors and memory requested by what runs on the machine."""

    @classmethod
    def of(
        cls,
        anchors: Anchors,
        distinct_keys: tuple[I64, I64, I64],
        capacity: Ledger,
        machines: Ledger,
    ) -> Own:
        """Look the machines up; `distinct_keys` are the different (machine, time) and each row's one."""
        columns = [TOTAL["cpu_used"], TOTAL["memory_used"]]
        index = _newest(capacity, distinct_keys)
        used = gather_rows(machines.totals[:, columns], _newest(machines, distinct_keys), 0)
        removals = gather_rows(capacity.totals[:, MACHINE_TOTALS["removals"]], index, 0)
        return cls(anchors, gather_rows(capacity.marks, index, UNKNOWN), removals, used)

    def size(self, mark: str) -> F64:
        """Return the machine's processors or memory."""
        return _positive(self.capacity[:, MACHINE_MARKS[mark]]) / MILLIONTHS

    def free(self, mark: str) -> F64:
        """Return what nothing running on the machine has requested."""
        used = self.used[:, MACHINE_MARKS[mark]]
        return (_positive(self.capacity[:, MACHINE_MARKS[mark]]) - used) / MILLIONTHS

    def request(self, mark: str) -> F64:
        """Return the row's own request, on the scale of sizes."""
        anchors = self.anchors
        amount = anchors.cpu_request if mark == "cpus" else anchors.memory_request
        amount_millionths = millionths(amount)
        return np.where(amount_millionths >= 0, amount_millionths / MILLIONTHS, np.nan)

    def since(self, mark: str) -> F64:
        """Return the seconds since the machine was added or removed."""
        then = _positive(self.capacity[:, MACHINE_MARKS[mark]])
        return (self.anchors.time_us - then) / 1e6

    def attempt_age(self) -> F64:
        """Return the seconds since the attempt began."""
        return (self.anchors.time_us - _positive(self.anchors.attempt_start_us)) / 1e6

    def known_age(self) -> F64:
        """Return the seconds since the attempt began, of attempts whose beginning was seen."""
        anchors = self.anchors
        unseen = anchors.seen_since_us > anchors.attempt_start_us
        return np.where(unseen, np.nan, self.attempt_age())

    def seen(self) -> F64:
        """Return the seconds since the attempt was first seen running."""
        anchors = self.anchors
        since = np.maximum(anchors.seen_since_us, anchors.attempt_start_us)
        return (anchors.time_us - _positive(since)) / 1e6


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """One such column."""

    unit: str
    source: str
    meaning: str
    compute: Callable[[Own], F64]

    def feature(self, name: str) -> Feature:
        """Return it as a feature."""
        key = "machine" if self.source == "nodes" else "row"
        return Feature(name, self.unit, key, self.source, self.meaning)


def _newest(ledger: Ledger, distinct_keys: tuple[I64, I64, I64]) -> I64:
    machines, times, inverse = distinct_keys
    if not len(machines):
        return np.empty(0, dtype=np.int64)
    lookup = Lookup.over(ledger, machines, int(times.min()), int(times.max()))
    newest: I64 = lookup.alive_before(times)[inverse]
    return newest


def _positive(values: I64) -> F64:
    return np.where(values > 0, values.astype(np.float64), np.nan)


def _ratio(part: F64, whole: F64) -> F64:
    return quotient(part, whole, whole > 0)


def _known_or_nan(values: F64) -> F64:
    return np.where(values >= 0, values, np.nan)


OWN: Mapping[str, OwnColumn] = {
    "cpu_request": OwnColumn(
        "machines", "requests", "processors requested", lambda o: o.request("cpus")
    ),
    "memory_request": OwnColumn(
        "machines", "requests", "memory requested", lambda o: o.request("memory")
    ),
    "priority": OwnColumn(
        "level", "requests", "priority", lambda o: o.anchors.priority.astype(np.float64)
    ),
    "scheduling_class": OwnColumn(
        "level",
        "requests",
        "sensitivity to latency, 0 to 3",
        lambda o: _known_or_nan(o.anchors.scheduling_class.astype(np.float64)),
    ),
    "different_machines": OwnColumn(
        "flag",
        "requests",
        "whether the job's tasks must be on different machines",
        lambda o: _known_or_nan(o.anchors.different_machines.astype(np.float64)),
    ),
    "task_index": OwnColumn(
        "index",
        "requests",
        "the task's number in its job",
        lambda o: _known_or_nan(o.anchors.task.astype(np.float64)),
    ),
    "attempt_age_seconds": OwnColumn(
        "seconds", "attempts", "time since the attempt was scheduled", lambda o: o.attempt_age()
    ),
    "machine_cpus": OwnColumn("machines", "nodes", "processors", lambda o: o.size("cpus")),
    "machine_memory": OwnColumn("machines", "nodes", "memory", lambda o: o.size("memory")),
    "machine_free_cpus": OwnColumn(
        "machines",
        "nodes",
        "processors that nothing running has requested",
        lambda o: o.free("cpus"),
    ),
    "machine_free_memory": OwnColumn(
        "machines", "nodes", "memory that nothing running has requested", lambda o: o.free("memory")
    ),
    "machine_free_cpu_ratio": OwnColumn(
        "ratio",
        "nodes",
        "free processors / processors",
        lambda o: _ratio(o.free("cpus"), o.size("cpus")),
    ),
    "machine_free_memory_ratio": OwnColumn(
        "ratio",
        "nodes",
        "free memory / memory",
        lambda o: _ratio(o.free("memory"), o.size("memory")),
    ),
    "cpu_request_ratio": OwnColumn(
        "ratio",
        "nodes",
        "processors requested / the machine's",
        lambda o: _ratio(o.request("cpus"), o.size("cpus")),
    ),
    "memory_request_ratio": OwnColumn(
        "ratio",
        "nodes",
        "memory requested / the machine's",
        lambda o: _ratio(o.request("memory"), o.size("memory")),
    ),
    "machine_age_seconds": OwnColumn(
        "seconds", "nodes", "time since the machine was added", lambda o: o.since("added_us")
    ),
    "machine_removals": OwnColumn(
        "events", "nodes", "times the machine was removed", lambda o: o.removals.astype(np.float64)
    ),
    "machine_since_removal_seconds": OwnColumn(
        "seconds", "nodes", "time since the machine was removed", lambda o: o.since("removed_us")
    ),
    "known_age_seconds": OwnColumn(
        "seconds",
        "attempts",
        "time since the attempt was scheduled; missing where it ran before anybody looked",
        lambda o: o.known_age(),
    ),
    "seen_seconds": OwnColumn(
        "seconds",
        "attempts",
        "time since the attempt was first seen running: its age, or the least it can be",
        lambda o: o.seen(),
    ),
}
HAZARD_OWN: tuple[str, ...] = (
    "known_age_seconds",
    "seen_seconds",
    "cpu_request_ratio",
    "memory_request_ratio",
    "machine_free_cpu_ratio",
    "machine_age_seconds",
    "machine_since_removal_seconds",
)
FULL_OWN: tuple[str, ...] = tuple(
    name for name in OWN if name not in ("known_age_seconds", "seen_seconds")
)
LIVE_OWN: tuple[str, ...] = (
    "attempt_age_seconds",
    "machine_free_cpu_ratio",
    "machine_free_memory_ratio",
    "cpu_request_ratio",
    "memory_request_ratio",
    "machine_age_seconds",
)
