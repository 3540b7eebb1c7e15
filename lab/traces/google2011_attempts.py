"""The tasks of the 2011 Google trace with their owners, programs and retries.

Problem: `google2011_lives` plays each life of a task by itself, so that nobody can see who runs it, that it is one of
many of a job, and that it failed before. Guarantee: one row for each *course* of a task, that is its lives of which
all but the last ended in FAIL and were submitted again, with what each attempt ran and how it ended.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from features.history import Kind
from lab.traces.event_reader import TraceInput
from lab.traces.google2011 import READER
from lab.traces.google2011_lives import (
    BATCH_SECONDS,
    ENDS,
    JOB_FILE,
    LARGEST_CPU_MILLICORES,
    LARGEST_MEMORY_BYTES,
    TASK_FILE,
    class_name,
    lives_of,
)
from lab.traces.repair import RepairLog
from lab.traces.workload_trace import require

COURSE_COLUMNS = (
    "user",
    "program",  # logical name of the job; null where the trace has none
    "job",
    "task",
    "class_name",
    "cpu_millicores",
    "memory_bytes",
    "part",  # courses of one job with the same value were submitted together
    "starts",  # when each attempt was submitted, seconds of the trace
    "ends",  # when it ended; null: still there at the end of the segment
    "runs",  # seconds that it ran, waiting and evictions left out
    "failed",  # whether it ended in FAIL
)


def read_courses(data_dir: Path, segment: int) -> tuple[pl.DataFrame, float]:
    """Return the courses of one stretch of the trace without a hole (`COURSE_COLUMNS`), and when it ends.

    Raises:
        InputError: a file is missing, or not in the trace's form.
    """
    paths = {
        table: (require(data_dir, file),)
        for table, file in (("task_events", TASK_FILE), ("job_events", JOB_FILE))
    }
    source, ledger = TraceInput(data_dir, paths), RepairLog(repair=False)
    events = pl.concat(
        frame.filter(
            pl.col("segment") == segment,
            pl.col("kind") != Kind.OTHER,
            pl.col("cpu_request").is_not_null(),
        )
        for frame in READER.task_events(source, ledger)
    )
    end_seconds = float(events.select(pl.col("time_us").max()).item()) / 1e6
    assert READER.job_events is not None
    names = pl.concat(READER.job_events(source, ledger)).group_by("job").agg(pl.col("name").first())
    lives = _attempts(events, end_seconds)
    return _courses(lives).join(
        names.rename({"name": "program"}), on="job", how="left", maintain_order="left"
    ).select(COURSE_COLUMNS), end_seconds


def _attempts(events: pl.DataFrame, end_seconds: float) -> pl.DataFrame:
    """One row per life that was seen to begin or run, in order of task and time."""
    kind, seconds = pl.col("kind"), pl.col("seconds")
    return (
        lives_of(events, end_seconds)
        .group_by("life", maintain_order=True)
        .agg(
            pl.col("job", "task", "user").first(),
            seconds.first().alias("start"),
            pl.when(kind.last().is_in(ENDS)).then(seconds.last()).alias("end"),
            pl.col("ran_seconds").sum().alias("run"),
            (kind.last() == Kind.FAIL).alias("fail"),
            (kind == Kind.SCHEDULE).any().alias("placed"),
            pl.col("cpu_request", "memory_request", "priority", "scheduling_class").last(),
        )
        .filter("placed")
    )


def _courses(lives: pl.DataFrame) -> pl.DataFrame:
    new_task = pl.struct("job", "task").ne_missing(pl.struct("job", "task").shift(1))
    tried_again = pl.col("fail").shift(1).fill_null(False)
    largest = {"cpu": LARGEST_CPU_MILLICORES, "memory": LARGEST_MEMORY_BYTES}
    amounts = {
        name: (pl.col(f"{name}_request").first().cast(pl.Float64) * most).round().cast(pl.Int64)
        for name, most in largest.items()
    }
    return (
        lives.with_columns((new_task | ~tried_again).cum_sum().alias("course"))
        .group_by("course", maintain_order=True)
        .agg(
            pl.col("user", "job", "task", "priority", "scheduling_class").first(),
            amounts["cpu"].alias("cpu_millicores"),
            amounts["memory"].alias("memory_bytes"),
            (pl.col("start").first() // BATCH_SECONDS).cast(pl.Int64).alias("part"),
            pl.col("start").alias("starts"),
            pl.col("end").alias("ends"),
            pl.col("run").alias("runs"),
            pl.col("fail").alias("failed"),
        )
        .with_columns(class_name().alias("class_name"))
    )
