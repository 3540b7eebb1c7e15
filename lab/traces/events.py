"""One form for the events of every trace, and what each trace's own codes mean.

Problem: the codes of 2011 and 2019 differ (3 is FAIL in one and SCHEDULE in the other), and models
trained with the wrong table call normal ends failures. Guarantee: codes are read through the table
of the trace's own version and nowhere else; everything behind the readers knows only `Kind`.

Sources: clusterdata-2011-2 format and schema, "Google cluster-usage traces v3" (2019).
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from bus.errors import ConfigError
from features.history import Kind, MachineKind

MICROSECONDS = 1_000_000
MINUTE_US = 60 * MICROSECONDS
TRACE_START_US = 600 * MICROSECONDS
"""Google's traces begin here; time 0 is the state before."""
GOOGLE_END_US = 32 * 86_400 * MICROSECONDS
"""None of Google's traces lasts so long: 29 days in 2011, 31 in 2019."""
AFTER_THE_END_US = 2**63 - 1
"""Google's mark for "after the trace ended"."""


HORIZON_MINUTES = (5, 15, 30, 45, 60)
"""How far ahead ends are labelled."""


ENDS = (Kind.EVICT, Kind.FAIL, Kind.FINISH, Kind.KILL, Kind.LOST)
"""What ends an attempt; each may count as the failure that is predicted."""


EventTable = Mapping[int, Kind]
GOOGLE_2011: EventTable = {
    0: Kind.SUBMIT,
    1: Kind.SCHEDULE,
    2: Kind.EVICT,
    3: Kind.FAIL,
    4: Kind.FINISH,
    5: Kind.KILL,
    6: Kind.LOST,
    7: Kind.OTHER,  # UPDATE_PENDING
    8: Kind.OTHER,  # UPDATE_RUNNING
}
GOOGLE_2019: EventTable = {
    0: Kind.SUBMIT,
    1: Kind.OTHER,  # QUEUE
    2: Kind.OTHER,  # ENABLE
    3: Kind.SCHEDULE,
    4: Kind.EVICT,
    5: Kind.FAIL,
    6: Kind.FINISH,
    7: Kind.KILL,
    8: Kind.LOST,
    9: Kind.OTHER,  # UPDATE_PENDING
    10: Kind.OTHER,  # UPDATE_RUNNING
}
GOOGLE_2011_MACHINE: Mapping[int, MachineKind] = {kind.value: kind for kind in MachineKind}
GOOGLE_2019_MACHINE: Mapping[int, MachineKind] = {
    1: MachineKind.ADD,
    2: MachineKind.REMOVE,
    3: MachineKind.UPDATE,
}

Schema = Mapping[str, type[pl.DataType]]
TASK_FACTS = (
    "job",
    "task",
    "name",
    "user",
    "machine",
    "cpu_request",
    "memory_request",
    "priority",
    "scheduling_class",
    "different_machines",
)
"""What an event says of its task, whatever happened."""
TASK_EVENTS: Schema = {
    "time_us": pl.Int64,
    "kind": pl.Int8,
    "job": pl.Int64,
    "task": pl.Int32,
    "name": pl.Int64,
    "user": pl.Int64,
    "machine": pl.Int64,
    "cpu_request": pl.Float32,
    "memory_request": pl.Float32,
    "priority": pl.Int16,
    "scheduling_class": pl.Int8,
    "different_machines": pl.Int8,
    "segment": pl.Int16,
    "attempt_start_us": pl.Int64,
    "uncertain": pl.Boolean,
    "row": pl.Int64,
}
"""Sorted by (time_us, row). `job`, `task` name the task; `name` is the logical job name's code and
`user` the user's, -1 where unknown; `machine` is -1 before placement; requests are fractions of
the largest machine, NaN where missing; priority, class and different_machines are -1 where
missing; `segment` counts stretches without a hole; `attempt_start_us` is, on an end, the time of the
SCHEDULE that began the attempt (-1: none is known); `uncertain` marks, on a SCHEDULE, an attempt whose
outcome somebody influenced (in recordings of our own); `row` counts the rows of the input."""
JOB_EVENTS: Schema = {
    "time_us": pl.Int64,
    "kind": pl.Int8,
    "job": pl.Int64,
    "name": pl.Int64,
    "user": pl.Int64,
    "scheduling_class": pl.Int8,
    "row": pl.Int64,
}
MACHINE_EVENTS: Schema = {
    "time_us": pl.Int64,
    "kind": pl.Int8,
    "machine": pl.Int64,
    "cpus": pl.Float32,
    "memory": pl.Float32,
    "row": pl.Int64,
}
USAGE: Schema = {
    "time_us": pl.Int64,
    "start_us": pl.Int64,
    "job": pl.Int64,
    "task": pl.Int32,
    "machine": pl.Int64,
    "cpu_mean": pl.Float32,
    "cpu_max": pl.Float32,
    "memory_mean": pl.Float32,
    "memory_max": pl.Float32,
    "row": pl.Int64,
}
"""Usage windows; `time_us` is a window's end, when its values became known."""


def failure_kinds(text: str) -> tuple[Kind, ...]:
    """Read a choice such as `FAIL,EVICT`; returns it in the order of the codes.

    Raises:
        ConfigError: a word names no end of an attempt.
    """
    known = ", ".join(kind.name for kind in ENDS)
    chosen: set[Kind] = set()
    for word in text.upper().split(","):
        if word.strip() not in Kind.__members__ or Kind[word.strip()] not in ENDS:
            raise ConfigError(
                "--failure", text, f"give names of ends, separated by commas: {known}"
            )
        chosen.add(Kind[word.strip()])
    return tuple(sorted(chosen))
