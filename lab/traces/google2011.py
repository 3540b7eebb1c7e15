"""The Google trace of 2011 (clusterdata-2011-2): task, job and machine events of one Borg cell.

Read are parquet tables with the published column names and the published parts (csv.gz without
header), in one folder, in one folder for each table, or one file. A row without request or
machine is normal here. Stretches: parts that follow one another are one segment; without a column
`part` the number in `part-NNNNN-of-NNNNN` counts, and without either a pause of 15 minutes
between two events begins a new segment (the longest pause inside the published parts is 23 s).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from lab.traces.checks import (
    checked_rows,
    code_checks,
    google_time_checks,
    key_checks,
    row_in_input,
    share_checks,
    start_checks,
)
from lab.traces.event_reader import EventReader, Frames, TraceInput, find_tables
from lab.traces.events import (
    GOOGLE_2011,
    GOOGLE_2011_MACHINE,
    MINUTE_US,
    TRACE_START_US,
)
from lab.traces.google2011_lives import workload_of
from lab.traces.repair import RepairLog
from lab.traces.tables import Column, TableForm
from lab.traces.trace_reader import CC_BY, CC_BY_URL, REDUCED, Publication, TraceReader
from lab.traces.workload_trace import WorkloadTrace

NAME = "google2011"
PAUSE_US = 15 * MINUTE_US
FOREIGN = {
    "collection_id": "google2019",
    "instance_index": "google2019",
    "instance_events_type": "kaggle2019",
    "source_workload_id": "common",
}
TASKS = TableForm(
    NAME,
    "task_events",
    (
        Column("time", pl.Int64),
        Column("missing_info", pl.Int8, required=False),
        Column("job_id", pl.Int64),
        Column("task_index", pl.Int32),
        Column("machine_id", pl.Int64),
        Column("event_type", pl.Int16),
        Column("user", pl.String),
        Column("scheduling_class", pl.Int8),
        Column("priority", pl.Int16),
        Column("cpu_request", pl.Float32),
        Column("memory_request", pl.Float32),
        Column("disk_request", pl.Float32, required=False),
        Column("different_machines", pl.Int8, required=False, flag=True),
    ),
    headerless=True,
    foreign=FOREIGN,
)
JOBS = TableForm(
    NAME,
    "job_events",
    (
        Column("time", pl.Int64),
        Column("missing_info", pl.Int8, required=False),
        Column("job_id", pl.Int64),
        Column("event_type", pl.Int16),
        Column("user", pl.String),
        Column("scheduling_class", pl.Int8),
        Column("job_name", pl.String, required=False),
        Column("logical_job_name", pl.String),
    ),
    headerless=True,
    foreign=FOREIGN,
)
MACHINES = TableForm(
    NAME,
    "machine_events",
    (
        Column("time", pl.Int64),
        Column("machine_id", pl.Int64),
        Column("event_type", pl.Int16),
        Column("platform_id", pl.String, required=False),
        Column("cpus", pl.Float32),
        Column("memory", pl.Float32),
    ),
    headerless=True,
    foreign=FOREIGN,
)
TASKS_WITH_PART = TableForm(
    NAME,
    "task_events",
    (*TASKS.columns, Column("part", pl.Int32, required=False)),
    foreign=FOREIGN,
)
STARTS = start_checks("time", TRACE_START_US)
_PART = re.compile(r"part-([0-9]{5})-of-[0-9]{5}")


def _find(path: Path) -> TraceInput:
    return find_tables(path, ("task_events", "job_events", "machine_events"), ("task_events",))


def _task_events(source: TraceInput, ledger: RepairLog) -> Frames:
    checks = [
        *google_time_checks("time"),
        *key_checks("job_id", "task_index"),
        *code_checks("event_type", GOOGLE_2011, NAME),
        *share_checks("cpu_request", "memory_request"),
    ]
    paths = source.tables["task_events"]
    with_part = all(path.suffix == ".parquet" for path in paths)
    form = TASKS_WITH_PART if with_part else TASKS
    segments = _Segments()
    for path, before, frame in checked_rows(paths, form, ledger, checks, ("time", "part"), STARTS):
        yield segments.number(_with_part(frame, path)).select(
            pl.col("time").alias("time_us"),
            pl.col("event_type").replace_strict(GOOGLE_2011, return_dtype=pl.Int8).alias("kind"),
            pl.col("job_id").alias("job"),
            pl.col("task_index").alias("task"),
            "user",
            pl.col("machine_id").fill_null(-1).alias("machine"),
            "cpu_request",
            "memory_request",
            "priority",
            "scheduling_class",
            "different_machines",
            "segment",
            row_in_input(before),
        )


def _with_part(frame: pl.DataFrame, path: Path) -> pl.DataFrame:
    if "part" in frame.columns and frame["part"].null_count() < frame.height:
        return frame
    named = _PART.search(path.name)
    part = pl.lit(int(named[1]) if named else None, pl.Int32)
    return frame.with_columns(part.alias("part"))


class _Segments:
    """Numbers stretches without a hole, from frame to frame."""

    def __init__(self) -> None:
        self._part: int | None = None
        self._time: int | None = None
        self._segment = 0

    def number(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with `segment`."""
        part = frame["part"]
        if part.null_count() == 0:
            steps = part.to_numpy().astype(np.int64)
            before = steps[0] if self._part is None else self._part
            new = np.diff(steps, prepend=before) > 1
            self._part = int(steps.max())
        else:
            times = frame["time"].to_numpy()
            before = times[0] if self._time is None else self._time
            earlier = np.concatenate(([before], times[:-1]))
            # The state before the trace stands at time 0; the pause after it is no hole.
            new = (times - earlier > PAUSE_US) & (earlier > 0)
        self._time = int(frame["time"][-1])
        numbers = self._segment + np.cumsum(new)
        self._segment = int(numbers[-1])
        return frame.with_columns(pl.Series("segment", numbers, pl.Int16))


def _job_events(source: TraceInput, ledger: RepairLog) -> Frames:
    checks = [
        *google_time_checks("time"),
        *key_checks("job_id"),
        *code_checks("event_type", GOOGLE_2011, NAME),
    ]
    paths = source.tables.get("job_events", ())
    for _, before, frame in checked_rows(paths, JOBS, ledger, checks, ("time",), STARTS):
        yield frame.select(
            pl.col("time").alias("time_us"),
            pl.col("event_type").replace_strict(GOOGLE_2011, return_dtype=pl.Int8).alias("kind"),
            pl.col("job_id").alias("job"),
            pl.col("logical_job_name").alias("name"),
            "user",
            "scheduling_class",
            row_in_input(before),
        )


def _machine_events(source: TraceInput, ledger: RepairLog) -> Iterator[pl.DataFrame]:
    checks = [
        *google_time_checks("time"),
        *key_checks("machine_id"),
        *code_checks("event_type", GOOGLE_2011_MACHINE, NAME),
        *share_checks("cpus", "memory"),
    ]
    paths = source.tables.get("machine_events", ())
    for _, before, frame in checked_rows(paths, MACHINES, ledger, checks, ("time",), STARTS):
        yield frame.select(
            pl.col("time").alias("time_us"),
            pl.col("event_type").cast(pl.Int8).alias("kind"),
            pl.col("machine_id").alias("machine"),
            "cpus",
            "memory",
            row_in_input(before),
        )


READER = EventReader(
    trace=NAME,
    find=_find,
    task_events=_task_events,
    job_events=_job_events,
    machine_events=_machine_events,
    starts_at_us=TRACE_START_US,
)


def read_google2011(data_dir: Path) -> WorkloadTrace:
    """Read machines and pods from the folder of all trace files; raises InputError for a missing one."""
    return workload_of(READER, data_dir)


TRACE = TraceReader(
    name=NAME,
    read_workload=read_google2011,
    events=READER,
    publication=Publication(
        title="Google cluster-usage traces, clusterdata-2011-2",
        publisher="github.com/google/cluster-data",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="Google cluster-usage traces (clusterdata-2011-2), J. Wilkes and C. Reiss, "
        "Google",
        changes=(
            REDUCED,
            "requests scaled to a largest machine of 64 cores and 256 GiB",
            "parts 0 to 13 of 500 of the task events; 20 % of the jobs were held out beforehand",
        ),
    ),
)
