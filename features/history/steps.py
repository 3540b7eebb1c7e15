"""Increments of each event to every key that it is counted under."""

from __future__ import annotations

import numpy as np

from features.history.events import (
    JobEvents,
    Kind,
    MachineEvents,
    MachineKind,
    TaskEvents,
)
from features.history.keys import millionths
from features.history.ledger import UNKNOWN, Steps
from features.history.tables import F64, I8, I64, Flags

QUICK_US = 900 * 1_000_000
"""An end this soon after its own SCHEDULE is quick: the horizon that the reference predicts."""
BEFORE_THE_TRACE_US = 0
"""Events at this time are a state found, not something seen to happen: their time is unknown."""
LOG2_ONE = 1 << 20

KINDS = (Kind.SUBMIT, Kind.SCHEDULE, Kind.EVICT, Kind.FAIL, Kind.FINISH, Kind.KILL)
TOTALS = (
    "submits",
    "starts",
    "evicts",
    "fails",
    "finishes",
    "kills",
    "quick_fails",
    "quick_ends",
    "failed_tasks",
    "failed_jobs",
    "new_tasks",
    "new_jobs",
    "clean_starts",
    "clean_quick_fails",
    "first_fail_us",
    "running",
    "timed_ends",
    "log2_ends",
    "timed_fails",
    "log2_fails",
    "cpu_used",
    "memory_used",
)
"""Totals of task events. The first six count kinds; `log2_...` are sums of durations' logarithms
in units of 2**-20; `..._used` are millionths. `clean_...` are attempts begun while their job had
not failed; `first_fail_us`, under a job, is the time of its first failure, and else 0."""
MARKS = (
    "submit_us",
    "start_us",
    "evict_us",
    "fail_us",
    "finish_us",
    "kill_us",
    "end_kind",
    "duration_us",
    "fail_duration_us",
)
TOTAL = {name: column for column, name in enumerate(TOTALS)}
MARK = {name: column for column, name in enumerate(MARKS)}
JOB_TOTALS, JOB_MARKS = len(KINDS), len(KINDS) + 1
MACHINE_TOTALS = {"removals": 0}
MACHINE_MARKS = {"cpus": 0, "memory": 1, "added_us": 2, "removed_us": 3}


def task_steps(events: TaskEvents) -> Steps:
    """Return the steps of task events; `key` is the job, and what is told by other events of the
    same task or job (`firsts`) is still 0.
    """
    totals = np.zeros((len(events), len(TOTALS)), dtype=np.int64)
    marks = np.full((len(events), len(MARKS)), UNKNOWN, dtype=np.int64)
    ends = _write_kinds(events.kind, events.time_us, totals, marks)
    starts = events.kind == Kind.SCHEDULE
    running = starts.astype(np.int64)
    stops = (events.kind > Kind.SCHEDULE) & (events.attempt_start_us >= 0)
    running[stops] = -1
    totals[:, TOTAL["running"]] = running
    totals[:, TOTAL["cpu_used"]] = running * np.maximum(millionths(events.cpu_request), 0)
    totals[:, TOTAL["memory_used"]] = running * np.maximum(millionths(events.memory_request), 0)
    timed = stops & ends & (events.attempt_start_us > BEFORE_THE_TRACE_US)
    _write_durations(events, timed, totals, marks)
    return Steps(events.job, events.time_us, totals, marks, _outcomes(events.kind, ends))


def job_steps(events: JobEvents) -> Steps:
    """Return the steps of job events; `key` is the job."""
    totals = np.zeros((len(events), JOB_TOTALS), dtype=np.int64)
    marks = np.full((len(events), JOB_MARKS), UNKNOWN, dtype=np.int64)
    ends = _write_kinds(events.kind, events.time_us, totals, marks)
    return Steps(events.job, events.time_us, totals, marks, _outcomes(events.kind, ends))


def machine_steps(events: MachineEvents) -> Steps:
    """Return the steps of machine events; `key` is the machine."""
    totals = (events.kind == MachineKind.REMOVE).astype(np.int64)[:, np.newaxis]
    marks = np.full((len(events), len(MACHINE_MARKS)), UNKNOWN, dtype=np.int64)
    marks[:, MACHINE_MARKS["cpus"]] = millionths(events.cpus)
    marks[:, MACHINE_MARKS["memory"]] = millionths(events.memory)
    in_trace = events.time_us > BEFORE_THE_TRACE_US
    for kind, mark in ((MachineKind.ADD, "added_us"), (MachineKind.REMOVE, "removed_us")):
        chosen = in_trace & (events.kind == kind)
        marks[chosen, MACHINE_MARKS[mark]] = events.time_us[chosen]
    outcome = np.full(len(events), -1, dtype=np.int8)
    return Steps(events.machine, events.time_us, totals, marks, outcome)


def log2_seconds(duration_us: I64) -> I64:
    """Return the binary logarithm of durations in seconds, within 0.01, in units of 2**-20.

    Durations below a second count as one. Multiplications and additions alone, so that every
    machine computes the same bits.
    """
    mantissa, exponent = np.frexp(np.maximum(duration_us / 1e6, 1.0))
    part: F64 = 2.0 * mantissa - 1.0
    logarithm = (exponent - 1) + part + 0.3437 * part * (1.0 - part)
    return np.rint(logarithm * LOG2_ONE).astype(np.int64)


def _write_kinds(kind: I8, time_us: I64, totals: I64, marks: I64) -> Flags:
    """Count each kind and mark its time; return which events are ends that were seen."""
    in_trace = time_us > BEFORE_THE_TRACE_US
    for number in KINDS:
        chosen = kind == number
        totals[:, number] = chosen
        chosen &= in_trace
        marks[chosen, number] = time_us[chosen]
    ends = (kind > Kind.SCHEDULE) & (kind < Kind.LOST)
    marks[ends, MARK["end_kind"]] = kind[ends]
    return ends


def _write_durations(events: TaskEvents, timed: Flags, totals: I64, marks: I64) -> None:
    duration = events.time_us - events.attempt_start_us
    fails = timed & (events.kind == Kind.FAIL)
    logarithm = log2_seconds(np.where(timed, duration, 0))
    quick = duration <= QUICK_US
    totals[:, TOTAL["quick_ends"]] = timed & quick
    totals[:, TOTAL["quick_fails"]] = fails & quick
    totals[:, TOTAL["timed_ends"]] = timed
    totals[:, TOTAL["log2_ends"]] = np.where(timed, logarithm, 0)
    totals[:, TOTAL["timed_fails"]] = fails
    totals[:, TOTAL["log2_fails"]] = np.where(fails, logarithm, 0)
    marks[timed, MARK["duration_us"]] = duration[timed]
    marks[fails, MARK["fail_duration_us"]] = duration[fails]


def _outcomes(kind: I8, ends: Flags) -> I8:
    return np.where(ends, kind == Kind.FAIL, -1).astype(np.int8)
