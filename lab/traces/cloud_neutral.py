"""The cloud-neutral form: one row for each usage window of a workload's instance, from any platform.

Required: source_cluster_id, source_workload_id, source_workload_instance_id, window_start_us,
window_end_us, requested_cpu, requested_mem, terminal_event_time_us, terminal_event_type. Read where
they are: source_node_id, source_user_id, source_workload_name, workload_priority, workload_class,
observed_cpu_avg, observed_cpu_peak, observed_mem_avg, observed_mem_peak. Other columns are not read:
event_count counts the whole life of an instance, future included, and would leak.

Files whose columns are called otherwise are read through a mapping, an input of one cluster takes its name from the
caller. Terminal events are named (EVICT, FAIL, FINISH, KILL, LOST): their numbers differ from trace to trace, so
numbers are read only where the caller says whose they are.
`--anchor window` takes each window's end as a decision; a window whose terminal event lies at or
before its own end is excluded and counted. For the other anchors an instance is taken to start with
its first window, and again with its first window after each terminal event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from features.history import Kind
from lab.traces.checks import (
    amount_checks,
    checked_rows,
    key_checks,
    row_in_input,
    time_checks,
    window_checks,
)
from lab.traces.codes import Codes
from lab.traces.common_options import AS_IT_IS, NAME, CommonOptions
from lab.traces.event_reader import EventReader, Frames, TraceInput, missing_table
from lab.traces.events import ENDS, GOOGLE_2011, GOOGLE_2019, TASK_FACTS, USAGE, EventTable
from lab.traces.repair import RepairLog, RowCheck
from lab.traces.tables import Column, TableForm
from lab.traces.trace_reader import TraceReader

TABLE = "windows"
END_CODES = {kind.name: kind.value for kind in ENDS}
NUMBERS: Mapping[str, EventTable] = {"google2011": GOOGLE_2011, "google2019": GOOGLE_2019}
"""Whose numbers a terminal event may be written in."""
MAY_BE_UNMAPPED = (
    "requested_cpu",
    "requested_mem",
    "terminal_event_time_us",
    "terminal_event_type",
)
"""What a mapping need not name: no request, or no end, is then known."""


def _optional(name: str, dtype: type[pl.DataType], *also: str) -> Column:
    return Column(name, dtype, required=False, also=also)


FORM = TableForm(
    NAME,
    TABLE,
    (
        Column("source_cluster_id", pl.String),
        Column("source_workload_id", pl.String),
        Column("source_workload_instance_id", pl.String),
        _optional("source_node_id", pl.String),
        _optional("source_user_id", pl.String),
        _optional("source_workload_name", pl.String),
        Column("window_start_us", pl.Int64),
        Column("window_end_us", pl.Int64),
        _optional("observed_cpu_avg", pl.Float32),
        _optional("observed_cpu_peak", pl.Float32),
        _optional("observed_mem_avg", pl.Float32, "observed_memory_avg"),
        _optional("observed_mem_peak", pl.Float32, "observed_memory_peak"),
        Column("requested_cpu", pl.Float32),
        Column("requested_mem", pl.Float32, also=("requested_memory",)),
        _optional("workload_priority", pl.Int16),
        _optional("workload_class", pl.Int8),
        Column("terminal_event_time_us", pl.Int64),
        Column("terminal_event_type", pl.String),
    ),
    foreign={
        "job_id": "google2011",
        "collection_id": "google2019",
        "instance_events_type": "kaggle2019",
    },
)
_END = pl.col("terminal_event_time_us")
_TYPE = pl.col("terminal_event_type").str.to_uppercase().str.strip_suffix(".0")


def _checks(codes: Mapping[str, int]) -> tuple[RowCheck, ...]:
    return (
        *key_checks("source_cluster_id", "source_workload_id", "source_workload_instance_id"),
        *time_checks("window_start_us"),
        *time_checks("window_end_us"),
        *window_checks("window_start_us", "window_end_us"),
        RowCheck(
            "out-of-order",
            "window_end_us",
            pl.col("window_end_us") <= pl.col("window_start_us"),
            "a window ends after it begins",
        ),
        RowCheck(
            "null-key",
            "terminal_event_type",
            _END.is_not_null() & _TYPE.is_null(),
            "what ended it",
        ),
        RowCheck(
            "null-key",
            "terminal_event_time_us",
            _END.is_null() & _TYPE.is_not_null(),
            "when it ended",
        ),
        RowCheck(
            "negative-time",
            "terminal_event_time_us",
            _END < 0,
            "times are microseconds, 0 or more",
        ),
        RowCheck("unknown-code", "terminal_event_type", ~_TYPE.is_in(list(codes)), _known(codes)),
        *amount_checks("requested_cpu", "requested_mem", "observed_cpu_avg", "observed_mem_avg"),
    )


def _known(codes: Mapping[str, int]) -> str:
    if len(codes) > len(END_CODES):
        return "ends are " + ", ".join(codes)
    names = ", ".join(END_CODES)
    return f"name it {names}; numbers differ between traces: --numeric-codes says whose they are"


def _end_codes(options: CommonOptions) -> dict[str, int]:
    """Return what may stand as a terminal event, and the kind's code that it means."""
    table = {} if options.numeric_codes is None else NUMBERS[options.numeric_codes]
    numbers = {str(number): kind.value for number, kind in table.items() if kind in ENDS}
    return END_CODES | numbers


def form_of(options: CommonOptions) -> TableForm:
    """Return the form as the columns of an input have it."""
    if not options.given:
        return FORM
    columns = tuple(_as_called(column, options) for column in FORM.columns)
    return replace(FORM, columns=columns, foreign={} if options.mapping else FORM.foreign)


def _as_called(column: Column, options: CommonOptions) -> Column:
    source = options.mapping.get(column.name, "")
    spared = column.name in MAY_BE_UNMAPPED and bool(options.mapping) and not source
    if column.name == "source_cluster_id" and options.default_cluster is not None:
        return replace(
            column, source=source, default=options.default_cluster, required=bool(source)
        )
    return replace(column, source=source, required=column.required and not spared)


def _find(path: Path) -> TraceInput:
    if path.is_file():
        return TraceInput(path.parent, {TABLE: (path,)})
    suffixes = (".parquet", ".csv", ".csv.gz", ".json", ".jsonl", ".ndjson", ".json.gz")
    paths = sorted(path for path in path.iterdir() if path.name.endswith(suffixes))
    if not paths:
        raise missing_table(path, "tables of windows")
    return TraceInput(path, {TABLE: tuple(paths)})


def read_windows(
    options: CommonOptions, source: TraceInput, ledger: RepairLog
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield (rows before it, a frame) in the form's own columns, with the names of ends."""
    codes = _end_codes(options)
    names = {word: Kind(code).name for word, code in codes.items()}
    named = _TYPE.replace_strict(names, return_dtype=pl.String, default=None)
    form, checks = form_of(options), _checks(codes)
    for _, before, frame in checked_rows(source.tables[TABLE], form, ledger, checks):
        yield before, frame.with_columns(named.alias("terminal_event_type"))


def _windows(options: CommonOptions, source: TraceInput, ledger: RepairLog) -> Frames:
    """Yield windows with unified columns; `task` numbers the instances of all workloads."""
    codes = Codes()
    cluster = pl.col("source_cluster_id")
    for before, frame in read_windows(options, source, ledger):
        instance = pl.format(
            "{}/{}/{}", cluster, "source_workload_id", "source_workload_instance_id"
        )
        keyed = codes.with_codes(frame.with_columns(instance.alias("task")), "task", "task")
        keyed = codes.with_codes(keyed.with_columns(cluster.alias("segment")), "segment", "segment")
        yield keyed.select(
            pl.col("window_end_us").alias("time_us"),
            pl.col("window_start_us").alias("start_us"),
            pl.format("{}/{}", cluster, "source_workload_id").alias("job"),
            pl.col("task").cast(pl.Int32),
            pl.col("source_workload_name").alias("name"),
            pl.col("source_user_id").alias("user"),
            pl.format("{}/{}", cluster, "source_node_id").alias("machine"),
            pl.col("requested_cpu").alias("cpu_request"),
            pl.col("requested_mem").alias("memory_request"),
            pl.col("workload_priority").alias("priority"),
            pl.col("workload_class").alias("scheduling_class"),
            pl.lit(None, pl.Int8).alias("different_machines"),
            pl.col("segment").cast(pl.Int16),
            pl.col("observed_cpu_avg").alias("cpu_mean"),
            pl.col("observed_cpu_peak").alias("cpu_max"),
            pl.col("observed_mem_avg").alias("memory_mean"),
            pl.col("observed_mem_peak").alias("memory_max"),
            pl.col("terminal_event_type")
            .replace_strict(END_CODES, return_dtype=pl.Int8, default=None)
            .fill_null(-1)
            .alias("end_kind"),
            _END.fill_null(-1).alias("end_us"),
            row_in_input(before),
        )


_EVENT = (*TASK_FACTS, "segment")


def _task_events(options: CommonOptions, source: TraceInput, ledger: RepairLog) -> Frames:
    """Yield starts and ends, and for each segment an OTHER event where its last window ends.

    Windows are held without their usage: starts need their order.
    """
    frames = list(_windows(options, source, ledger))
    if not frames:
        return
    windows = pl.concat(
        [frame.drop("cpu_mean", "cpu_max", "memory_mean", "memory_max") for frame in frames]
    )
    ends = (
        windows.filter(pl.col("end_us") >= 0)
        .unique(["task", "end_us"], keep="first", maintain_order=True)
        .select(pl.col("end_us").alias("time_us"), pl.col("end_kind").alias("kind"), *_EVENT)
    )
    ordered = windows.sort("task", "start_us", "row")
    starts = ordered.filter(pl.Series(_starts(ordered, ends))).select(
        pl.col("start_us").alias("time_us"),
        pl.lit(Kind.SCHEDULE.value, pl.Int8).alias("kind"),
        *_EVENT,
    )
    seen_until = (
        windows.sort("time_us")
        .unique("segment", keep="last", maintain_order=True)
        .select("time_us", pl.lit(Kind.OTHER.value, pl.Int8).alias("kind"), *_EVENT)
    )
    # At one moment the end of an attempt comes before the start of the next.
    yield (
        pl.concat([ends, starts, seen_until])
        .sort("time_us", pl.col("kind") == Kind.SCHEDULE, "task", maintain_order=True)
        .with_row_index("row")
        .cast({"row": pl.Int64})
    )


def _starts(ordered: pl.DataFrame, ends: pl.DataFrame) -> np.ndarray:
    """Say which windows are the first of their instance, or the first after one of its ends."""
    marks = pl.concat(
        [
            ordered.select("task", pl.col("start_us").alias("at"), pl.lit(1).alias("window")),
            ends.select("task", pl.col("time_us").alias("at"), pl.lit(0).alias("window")),
        ]
    ).sort("task", "at", "window", maintain_order=True)
    first = (pl.col("task") != pl.col("task").shift(1)).fill_null(value=True)
    after_end = (pl.col("window").shift(1) == 0).fill_null(value=False)
    marked = marks.with_columns((first | after_end).alias("start")).filter(pl.col("window") == 1)
    return marked["start"].to_numpy()


def _usage(options: CommonOptions, source: TraceInput, _ledger: RepairLog) -> Frames:
    # The rows were judged when the events were read.
    for frame in _windows(options, source, RepairLog(repair=True)):
        yield frame.select(*USAGE)


def reader_of(options: CommonOptions = AS_IT_IS) -> EventReader:
    """Return what reads an input that differs from the form as `options` says."""
    return EventReader(
        trace=NAME,
        find=_find,
        task_events=partial(_task_events, options),
        usage=partial(_usage, options),
        windows=partial(_windows, options),
        ordered=False,
    )


READER = reader_of()

TRACE = TraceReader(
    name=NAME,
    events=READER,
)
