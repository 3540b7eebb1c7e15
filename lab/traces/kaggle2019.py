"""The 34-column "Google 2019 cluster sample" that many notebooks train on: a table with a trap.

Its column `failed` marks rows whose text `event` is FAIL, and that text does not fit the number beside
it: the names were numbered in the order of the alphabet. By the official codes `event == FAIL` is
type 2, ENABLE. Guarantee: labels come from `instance_events_type` alone; `failed` and `event` are
checked to be there, counted and never used.

Rows are single events drawn at random, each joined with some usage window of the same instance, often
hours away: most attempts lack their end. Ids and times of many copies went through a spreadsheet and
are rounded. Fit to test readers with, not to train on.
"""

from __future__ import annotations

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
from lab.traces.event_reader import EventReader, Frames, TraceInput, missing_table
from lab.traces.events import GOOGLE_2019, TRACE_START_US, USAGE
from lab.traces.repair import RepairLog, RowCheck
from lab.traces.tables import Column, TableForm
from lab.traces.trace_reader import TraceReader

NAME = "kaggle2019"
EVENTS = "instance_events"
TRAP = (
    "the column `failed` marks ENABLE events (type 2), not failures; it is not used, and labels "
    "follow instance_events_type, where 5 is FAIL"
)
SAMPLED = (
    "rows are single events drawn at random: most attempts lack their end here, so base rates are "
    "too low; ids and times may be rounded; use it to test readers"
)
_WHOLE = ("time", "collection_id", "instance_index", "machine_id", "start_time", "end_time")
FORM = TableForm(
    NAME,
    EVENTS,
    (
        # Spreadsheets wrote large numbers as 1.68846E+11, so they are read as numbers first.
        *(Column(name, pl.Float64) for name in _WHOLE),
        Column("instance_events_type", pl.Int16),
        Column("scheduling_class", pl.Int8),
        Column("priority", pl.Int16),
        Column("resource_request", pl.String),
        Column("user", pl.String),
        Column("collection_logical_name", pl.String),
        Column("average_usage", pl.String),
        Column("maximum_usage", pl.String),
        Column("cluster", pl.Int16),
        Column("event", pl.String),
        Column("failed", pl.Int8, flag=True),
    ),
    foreign={"job_id": "google2011", "task_index": "google2011", "source_workload_id": "common"},
)
_CHECKS = (
    *(
        RowCheck(
            "wrong-type", name, pl.col(name).round() != pl.col(name), "expected a whole number"
        )
        for name in _WHOLE
    ),
    *google_time_checks("time"),
    *start_checks("time", TRACE_START_US),
    *window_checks("start_time", "end_time"),
    *key_checks("collection_id", "instance_index", "cluster"),
    *code_checks("instance_events_type", GOOGLE_2019, NAME),
)


def _find(path: Path) -> TraceInput:
    if path.is_file():
        return TraceInput(path.parent, {EVENTS: (path,)})
    paths = tuple(sorted(path for path in path.iterdir() if "csv" in path.name))
    if not paths:
        raise missing_table(path, "the sample")
    with_form = tuple(path for path in paths if "kaggle" in path.name) or paths
    return TraceInput(
        path, {EVENTS: with_form}, tuple(path.name for path in paths if path not in with_form)
    )


def _part(record: str, field: str) -> pl.Expr:
    """One number of a Python dict written as text."""
    number_text = pl.col(record).str.extract(rf"'{field}': ([-+0-9.eE]+)")
    return number_text.cast(pl.Float32, strict=False)


def _whole(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Int64)


def _key(name: str) -> pl.Expr:
    """Ids of different cells are different."""
    return pl.format("{}/{}", "cluster", _whole(name))


def _rows(source: TraceInput, ledger: RepairLog) -> Frames:
    amounts = {
        "cpu_request": _part("resource_request", "cpus"),
        "memory_request": _part("resource_request", "memory"),
        "cpu_mean": _part("average_usage", "cpus"),
        "memory_mean": _part("average_usage", "memory"),
        "cpu_max": _part("maximum_usage", "cpus"),
        "memory_max": _part("maximum_usage", "memory"),
    }
    judged = [*amount_checks(*amounts), *share_checks("cpu_request", "memory_request")]
    for path, before, frame in checked_rows(source.tables[EVENTS], FORM, ledger, _CHECKS):
        with_amounts = frame.with_columns(expr.alias(name) for name, expr in amounts.items())
        good = ledger.judge(with_amounts, path.name, judged)
        machine = pl.when(pl.col("machine_id") > 0).then(_key("machine_id"))
        yield good.with_columns(
            _key("collection_id").alias("job"),
            _whole("instance_index").cast(pl.Int32).alias("task"),
            machine.alias("machine"),
            row_in_input(before),
        )


def _task_events(source: TraceInput, ledger: RepairLog) -> Frames:
    for frame in _rows(source, ledger):
        yield frame.select(
            _whole("time").alias("time_us"),
            pl.col("instance_events_type")
            .replace_strict(GOOGLE_2019, return_dtype=pl.Int8)
            .alias("kind"),
            "job",
            "task",
            pl.col("collection_logical_name").alias("name"),
            "user",
            "machine",
            "cpu_request",
            "memory_request",
            "priority",
            "scheduling_class",
            pl.lit(None, pl.Int8).alias("different_machines"),
            pl.col("cluster").alias("segment"),
            "row",
        )


def _usage(source: TraceInput, _ledger: RepairLog) -> Frames:
    # The rows were judged when the events were read.
    for frame in _rows(source, RepairLog(repair=True)):
        timed = frame.with_columns(
            _whole("end_time").alias("time_us"), _whole("start_time").alias("start_us")
        )
        yield timed.select(*USAGE).filter(pl.col("time_us").is_not_null())


READER = EventReader(
    trace=NAME,
    find=_find,
    task_events=_task_events,
    usage=_usage,
    ordered=False,
    starts_at_us=TRACE_START_US,
    notes=(TRAP, SAMPLED),
)

TRACE = TraceReader(
    name=NAME,
    events=READER,
)
