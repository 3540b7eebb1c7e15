"""The 2011 Google trace as a Kubernetes cluster of some hundred machines would have shown it, for models to learn from.

Problem: Borg tries a failed task again at once and one user has thousands of tasks, so a model of that trace meets rows
in a cluster that it never saw. Guarantee: every task of the trace is there once, with three things changed. A retry
comes after Kubernetes' back-off (and not any more once the trace had given the task up); a job of more than 64 tasks
is dealt out into jobs of at most 64; and the jobs of one user are dealt out to thirty, so that an owner is as large as
one is in 400 of the 12,477 machines. `lab.workloads.retries` plays the same world in the twin.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from features.history import Kind
from lab.traces import google2011
from lab.traces.event_reader import Frames, TraceInput
from lab.traces.events import MICROSECONDS
from lab.traces.repair import RepairLog
from lab.traces.trace_reader import TraceReader

NAME = "google2011-kubernetes"
BACK_OFF_US, MOST_BACK_OFF_US = 10 * MICROSECONDS, 600 * MICROSECONDS
MOST_TASKS, OWNERS = 64, 30
_SPREAD = 2_654_435_761
"""Knuth's multiplicative hash, 2^32 over the golden ratio."""
COURSE_STEP = 2**20
"""What runs again after it finished or was killed is another task, whose number is so much higher."""


def _task_events(source: TraceInput, ledger: RepairLog) -> Frames:
    events = pl.concat(google2011.READER.task_events(source, ledger))
    backed_off = with_back_off(events.filter(pl.col("kind") != Kind.OTHER))
    yield (
        dealt_out(backed_off)
        .sort("time_us", "row")
        .drop("row")
        .with_row_index("row")
        .with_columns(pl.col("row").cast(pl.Int64))
        .select(events.columns)
    )


def with_back_off(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with retries as late as a Job's controller makes them, and without those that came too late."""
    of_task = pl.struct("segment", "job", "task")
    kind = pl.col("kind")
    is_over = kind.shift(1).is_in([Kind.FINISH, Kind.KILL]) & of_task.eq_missing(of_task.shift(1))
    table = events.sort("segment", "job", "task", "row", maintain_order=True).with_columns(
        course=(is_over | of_task.ne_missing(of_task.shift(1))).fill_null(value=True).cum_sum(),
        ends=pl.col("time_us").max().over("segment"),
    )
    tried_again = (kind == Kind.SUBMIT) & (kind.shift(1) == Kind.FAIL) & pl.col("course").eq_missing(
        pl.col("course").shift(1)
    )  # fmt: skip
    failures = (kind == Kind.FAIL).cast(pl.Int64).cum_sum().over("course")
    doubled = pl.lit(2, pl.Int64).pow((failures - 1).clip(0, 10)) * BACK_OFF_US
    delay = doubled.cast(pl.Int64).clip(upper_bound=MOST_BACK_OFF_US)
    last, goes_on = (
        kind.last().over("course"),
        kind.last().over("course").is_in([Kind.FINISH, Kind.EVICT]),
    )
    until = (
        pl.when(goes_on | ~last.is_in([Kind.FAIL, Kind.KILL]))
        .then("ends")
        .otherwise(pl.col("time_us").last().over("course"))
    )
    shift = pl.when(tried_again).then(delay).otherwise(0).cum_sum().over("course")
    shifted = table.with_columns(until=until, shift=shift).with_columns(
        time_us=pl.col("time_us") + pl.col("shift")
    )
    kept = shifted.filter((pl.col("time_us") <= pl.col("until")) | (pl.col("shift") == 0))
    cut_off = (
        kept.group_by("course", maintain_order=True)
        .last()
        .join(shifted.group_by("course").len(), on="course")
        .join(kept.group_by("course").len(name="kept"), on="course")
        .filter(
            pl.col("kept") < pl.col("len"), kind == Kind.SCHEDULE, pl.col("until") < pl.col("ends")
        )
        .with_columns(time_us=pl.col("until"), kind=pl.lit(Kind.KILL, pl.Int8))
    )
    number = pl.col("course") - pl.col("course").min().over("segment", "job", "task")
    return (
        pl.concat((kept, cut_off.select(kept.columns)))
        .with_columns(task=(pl.col("task") + COURSE_STEP * (number % 1024)).cast(pl.Int32))
        .select(events.columns)
    )


def dealt_out(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with large jobs as several, and each user as thirty."""
    tasks = (pl.col("task") % COURSE_STEP).n_unique().over("segment", "job")
    parts = (tasks + MOST_TASKS - 1) // MOST_TASKS
    part = (pl.col("task").cast(pl.Int64) % COURSE_STEP * _SPREAD) % 2**32 % parts
    owner = (pl.col("job") * _SPREAD // 2**16) % OWNERS
    return events.with_columns(job=pl.col("job") % 2**40 * 1024 + part).with_columns(
        user=pl.format("{}/{}", "user", owner)
    )


TRACE = TraceReader(
    name=NAME,
    events=replace(google2011.READER, trace=NAME, task_events=_task_events, job_events=None),
)
