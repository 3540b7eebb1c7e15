"""The Google traces of 2019 (version 3): instance, collection and machine events, and usage windows.

Read are exports as parquet, JSON (lines or one array) and CSV with header, in any number of shards;
records inside them (`resource_request`) may be records or flat columns. The order of rows is not
relied on: exports come unsorted. User and logical name stand on collections only. Without
instance_events each collection is taken as one task; machines are then unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from lab.traces.checks import (
    amount_checks,
    checked_rows,
    code_checks,
    google_time_checks,
    key_checks,
    row_in_input,
    share_checks,
    start_checks,
    window_checks,
)
from lab.traces.event_reader import EventReader, Frames, TraceInput, find_tables
from lab.traces.events import GOOGLE_2019, GOOGLE_2019_MACHINE, TRACE_START_US
from lab.traces.repair import RepairLog, RowCheck
from lab.traces.tables import Column, TableForm
from lab.traces.trace_reader import CC_BY, CC_BY_URL, REDUCED, Publication, TraceReader

NAME = "google2019"
INSTANCES, COLLECTIONS = "instance_events", "collection_events"
MACHINES, USAGE = "machine_events", "instance_usage"
FOREIGN = {
    "job_id": "google2011",
    "task_index": "google2011",
    "instance_events_type": "kaggle2019",
    "source_workload_id": "common",
}
COLLECTIONS_AS_TASKS = (
    "no instance_events: each collection counts as one task, and machines are unknown"
)


def _form(table: str, *columns: Column) -> TableForm:
    return TableForm(NAME, table, columns, foreign=FOREIGN)


def _optional(name: str, dtype: type[pl.DataType], *also: str) -> Column:
    return Column(name, dtype, required=False, also=also)


INSTANCE_FORM = _form(
    INSTANCES,
    Column("time", pl.Int64),
    Column("type", pl.Int16),
    Column("collection_id", pl.Int64),
    Column("instance_index", pl.Int32),
    Column("priority", pl.Int16),
    Column("scheduling_class", pl.Int8),
    Column("machine_id", pl.Int64),
    Column("cpus", pl.Float32, also=("resource_request.cpus", "resource_request_cpus")),
    Column("memory", pl.Float32, also=("resource_request.memory", "resource_request_memory")),
)
COLLECTION_FORM = _form(
    COLLECTIONS,
    Column("time", pl.Int64),
    Column("type", pl.Int16),
    Column("collection_id", pl.Int64),
    Column("scheduling_class", pl.Int8),
    Column("priority", pl.Int16),
    Column("user", pl.String),
    Column("collection_logical_name", pl.String),
)
MACHINE_FORM = _form(
    MACHINES,
    Column("time", pl.Int64),
    Column("machine_id", pl.Int64),
    Column("type", pl.Int16),
    Column("cpus", pl.Float32, also=("capacity.cpus", "capacity_cpus")),
    Column("memory", pl.Float32, also=("capacity.memory", "capacity_memory")),
)
USAGE_FORM = _form(
    USAGE,
    Column("end_time", pl.Int64, also=("time",)),
    _optional("start_time", pl.Int64),
    Column("collection_id", pl.Int64),
    Column("instance_index", pl.Int32),
    _optional("machine_id", pl.Int64),
    Column("cpu_mean", pl.Float32, also=("average_usage.cpus", "avg_cpu_usage")),
    _optional("cpu_max", pl.Float32, "maximum_usage.cpus", "max_cpu_usage"),
    _optional("memory_mean", pl.Float32, "average_usage.memory", "avg_memory_usage"),
    _optional("memory_max", pl.Float32, "maximum_usage.memory", "max_memory_usage"),
)


def _find(path: Path) -> TraceInput:
    tables = (INSTANCES, COLLECTIONS, MACHINES, USAGE)
    return find_tables(path, tables, (INSTANCES, COLLECTIONS))


def _event_checks(*keys: str) -> list[RowCheck]:
    return [
        *google_time_checks("time"),
        *start_checks("time", TRACE_START_US),
        *key_checks(*keys),
        *code_checks("type", GOOGLE_2019, NAME),
    ]


def _kind() -> pl.Expr:
    return pl.col("type").replace_strict(GOOGLE_2019, return_dtype=pl.Int8).alias("kind")


def _machine() -> pl.Expr:
    """Machine 0 stands for none in the published exports."""
    known = pl.col("machine_id") > 0
    return pl.when(known).then("machine_id").otherwise(-1).cast(pl.Int64).alias("machine")


def _task_events(source: TraceInput, ledger: RepairLog) -> Frames:
    paths = source.tables.get(INSTANCES)
    if paths is None:
        ledger.note(COLLECTIONS_AS_TASKS)
        yield from _collections_as_tasks(source.tables[COLLECTIONS], ledger)
        return
    checks = [
        *_event_checks("collection_id", "instance_index"),
        *share_checks("cpus", "memory"),
    ]
    for _, before, frame in checked_rows(paths, INSTANCE_FORM, ledger, checks):
        yield frame.select(
            pl.col("time").alias("time_us"),
            _kind(),
            pl.col("collection_id").alias("job"),
            pl.col("instance_index").alias("task"),
            _machine(),
            pl.col("cpus").alias("cpu_request"),
            pl.col("memory").alias("memory_request"),
            "priority",
            "scheduling_class",
            pl.lit(None, pl.Int8).alias("different_machines"),
            pl.lit(0, pl.Int16).alias("segment"),
            row_in_input(before),
        )


def _collections_as_tasks(paths: Sequence[Path], ledger: RepairLog) -> Frames:
    checks = _event_checks("collection_id")
    for _, before, frame in checked_rows(paths, COLLECTION_FORM, ledger, checks):
        yield frame.select(
            pl.col("time").alias("time_us"),
            _kind(),
            pl.col("collection_id").alias("job"),
            pl.lit(0, pl.Int32).alias("task"),
            pl.lit(-1, pl.Int64).alias("machine"),
            pl.lit(None, pl.Float32).alias("cpu_request"),
            pl.lit(None, pl.Float32).alias("memory_request"),
            "priority",
            "scheduling_class",
            pl.lit(None, pl.Int8).alias("different_machines"),
            pl.lit(0, pl.Int16).alias("segment"),
            row_in_input(before),
        )


def _job_events(source: TraceInput, ledger: RepairLog) -> Frames:
    checks = _event_checks("collection_id")
    paths = source.tables.get(COLLECTIONS, ())
    for _, before, frame in checked_rows(paths, COLLECTION_FORM, ledger, checks):
        yield frame.select(
            pl.col("time").alias("time_us"),
            _kind(),
            pl.col("collection_id").alias("job"),
            pl.col("collection_logical_name").alias("name"),
            "user",
            "scheduling_class",
            row_in_input(before),
        )


def _machine_events(source: TraceInput, ledger: RepairLog) -> Frames:
    checks = [
        *google_time_checks("time"),
        *start_checks("time", TRACE_START_US),
        *key_checks("machine_id"),
        *code_checks("type", GOOGLE_2019_MACHINE, NAME),
        *share_checks("cpus", "memory"),
    ]
    kinds = pl.col("type").replace_strict(GOOGLE_2019_MACHINE, return_dtype=pl.Int8)
    paths = source.tables.get(MACHINES, ())
    for _, before, frame in checked_rows(paths, MACHINE_FORM, ledger, checks):
        yield frame.select(
            pl.col("time").alias("time_us"),
            kinds.alias("kind"),
            pl.col("machine_id").alias("machine"),
            "cpus",
            "memory",
            row_in_input(before),
        )


def _usage(source: TraceInput, ledger: RepairLog) -> Frames:
    amounts = ("cpu_mean", "cpu_max", "memory_mean", "memory_max")
    checks = [
        *google_time_checks("end_time"),
        *window_checks("start_time", "end_time"),
        *key_checks("collection_id", "instance_index"),
        *amount_checks(*amounts),
    ]
    paths = source.tables.get(USAGE, ())
    for _, before, frame in checked_rows(paths, USAGE_FORM, ledger, checks):
        yield frame.select(
            pl.col("end_time").alias("time_us"),
            pl.col("start_time").fill_null(-1).alias("start_us"),
            pl.col("collection_id").alias("job"),
            pl.col("instance_index").alias("task"),
            _machine(),
            *amounts,
            row_in_input(before),
        )


READER = EventReader(
    trace=NAME,
    find=_find,
    task_events=_task_events,
    job_events=_job_events,
    machine_events=_machine_events,
    usage=_usage,
    ordered=False,
    starts_at_us=TRACE_START_US,
)

TRACE = TraceReader(
    name=NAME,
    events=READER,
    publication=Publication(
        title="Google cluster-usage traces v3, 2019",
        publisher="github.com/google/cluster-data; windows joined with requests by "
        "github.com/muse-research-lab/cloud-traces-comparison",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="Google cluster-usage traces v3, Google, 2019",
        changes=(REDUCED, "average use divided by limit"),
    ),
)
