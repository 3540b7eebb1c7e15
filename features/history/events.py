"""What can be known at a moment: task, job and machine events, and the rows asked about.

Every table is sorted by time; rows of one microsecond keep their recorded order. Times are
microseconds of the cluster's own clock, text keys are whole-number codes, -1 is "not known".
Requests and capacities are on one scale, whichever (2011: fractions of the largest machine;
live: cores and bytes), NaN where missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from features.history.tables import F32, I8, I16, I32, I64, Table, column_type


class Kind(IntEnum):
    """Event of a task or job; a trace's own codes are mapped to these when it is read."""

    SUBMIT = 0
    SCHEDULE = 1
    EVICT = 2
    FAIL = 3
    FINISH = 4
    KILL = 5
    LOST = 6
    """It ended and nobody saw how; ends an attempt, counts as no end."""
    OTHER = 7
    """Valid, but no part of an attempt: updates, queueing. Those who read traces check and count it, then
    leave it out; the features never see it."""


class MachineKind(IntEnum):
    """Event of a machine."""

    ADD = 0
    REMOVE = 1
    UPDATE = 2


@dataclass(frozen=True, slots=True)
class TaskEvents(Table):
    """One row per event of a task."""

    time_us: I64 = field(metadata=column_type(np.int64))
    kind: I8 = field(metadata=column_type(np.int8))
    job: I64 = field(metadata=column_type(np.int64))
    task: I32 = field(metadata=column_type(np.int32))
    name: I64 = field(metadata=column_type(np.int64, -1))
    user: I64 = field(metadata=column_type(np.int64, -1))
    machine: I64 = field(metadata=column_type(np.int64, -1))
    cpu_request: F32 = field(metadata=column_type(np.float32, np.nan))
    memory_request: F32 = field(metadata=column_type(np.float32, np.nan))
    priority: I16 = field(metadata=column_type(np.int16, 0))
    scheduling_class: I8 = field(metadata=column_type(np.int8, -1))
    different_machines: I8 = field(metadata=column_type(np.int8, -1))
    segment: I16 = field(metadata=column_type(np.int16, 0))
    """Number of the contiguous stretch of recording; what still ran when one broke off is LOST."""
    attempt_start_us: I64 = field(metadata=column_type(np.int64, -1))
    """Of an event that ends an attempt: when that attempt was scheduled; -1: nothing ran, or
    not known. Live the pod says so; for traces `Attempts.resolve` fills it in."""


@dataclass(frozen=True, slots=True)
class JobEvents(Table):
    """One row per event of a whole job."""

    time_us: I64 = field(metadata=column_type(np.int64))
    kind: I8 = field(metadata=column_type(np.int8))
    job: I64 = field(metadata=column_type(np.int64))
    name: I64 = field(metadata=column_type(np.int64, -1))
    user: I64 = field(metadata=column_type(np.int64, -1))
    scheduling_class: I8 = field(metadata=column_type(np.int8, -1))


@dataclass(frozen=True, slots=True)
class MachineEvents(Table):
    """One row per event of a machine, with its capacity from then on (NaN: unchanged)."""

    time_us: I64 = field(metadata=column_type(np.int64))
    kind: I8 = field(metadata=column_type(np.int8))
    machine: I64 = field(metadata=column_type(np.int64))
    cpus: F32 = field(metadata=column_type(np.float32, np.nan))
    memory: F32 = field(metadata=column_type(np.float32, np.nan))


@dataclass(frozen=True, slots=True)
class Events:
    """One piece of history; each table sorted by time."""

    tasks: TaskEvents = field(default_factory=TaskEvents.empty)
    jobs: JobEvents = field(default_factory=JobEvents.empty)
    machines: MachineEvents = field(default_factory=MachineEvents.empty)

    def concat(self, later: Events) -> Events:
        """Return these events and the later ones."""
        return Events(
            self.tasks.concat(later.tasks) if len(later.tasks) else self.tasks,
            self.jobs.concat(later.jobs) if len(later.jobs) else self.jobs,
            self.machines.concat(later.machines) if len(later.machines) else self.machines,
        )


@dataclass(frozen=True, slots=True)
class Anchors(Table):
    """One row per question: this task, running or just placed, at this time. Any order."""

    time_us: I64 = field(metadata=column_type(np.int64))
    job: I64 = field(metadata=column_type(np.int64))
    task: I32 = field(metadata=column_type(np.int32, -1))
    name: I64 = field(metadata=column_type(np.int64, -1))
    user: I64 = field(metadata=column_type(np.int64, -1))
    machine: I64 = field(metadata=column_type(np.int64, -1))
    cpu_request: F32 = field(metadata=column_type(np.float32, np.nan))
    memory_request: F32 = field(metadata=column_type(np.float32, np.nan))
    priority: I16 = field(metadata=column_type(np.int16, 0))
    scheduling_class: I8 = field(metadata=column_type(np.int8, -1))
    different_machines: I8 = field(metadata=column_type(np.int8, -1))
    attempt_start_us: I64 = field(metadata=column_type(np.int64, -1))
    """When the attempt asked about began; -1: not known."""
    seen_since_us: I64 = field(metadata=column_type(np.int64, -1))
    """When it was first seen running, of an attempt that ran before anybody looked; -1: it was seen
    from its beginning."""
