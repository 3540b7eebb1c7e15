"""A trace's usage windows in the cloud-neutral form: what its reader reads, from any trace that has them.

A window says what was asked for when it ended, and how the attempt that it is of ended, if it did. Ratios are of
what was asked for. What the predecessor's own files derive besides (lags, means of three windows, labels) is left to
those who read: it follows from the rows, and its labels took normal ends for failures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bus.errors import InputError
from features.history import Kind
from lab.traces import cloud_neutral
from lab.traces.common_options import AS_IT_IS, NAME, CommonOptions
from lab.traces.event_reader import EventReader, Frames, TraceInput
from lab.traces.events import ENDS, MINUTE_US
from lab.traces.repair import RepairLog

VERSION = "v1"
COLUMNS = (
    "source_platform",
    "source_schema_version",
    "source_cluster_id",
    "source_workload_id",
    "source_workload_instance_id",
    "source_node_id",
    "window_start_us",
    "window_end_us",
    "window_duration_us",
    "observed_cpu_avg",
    "observed_cpu_peak",
    "observed_mem_avg",
    "observed_mem_peak",
    "observed_cpu_avg_ratio",
    "observed_cpu_peak_ratio",
    "observed_mem_avg_ratio",
    "observed_mem_peak_ratio",
    "requested_cpu",
    "requested_mem",
    "workload_priority",
    "workload_class",
    "terminal_event_time_us",
    "terminal_event_type",
)
_TASK = ["job", "task"]
_ORDER = ("source_cluster_id", "source_workload_id", "source_workload_instance_id")


@dataclass(frozen=True, slots=True)
class Written:
    """How windows are written."""

    platform: str
    cluster: str
    """Of traces that name none."""
    codes: str | None = None
    """Whose numbers ends are written as; None: their names."""


def common_windows(
    reader: EventReader, path: Path, written: Written, common: CommonOptions = AS_IT_IS
) -> pl.DataFrame:
    """Return a trace's windows in `COLUMNS`, by instance and time.

    Raises:
        InputError: the trace has no usage windows, or a row is not in its form.
    """
    source, ledger = reader.find(path), RepairLog(repair=False)
    if reader.trace == NAME:
        windows = pl.concat(
            frame for _, frame in cloud_neutral.read_windows(common, source, ledger)
        )
    else:
        windows = _of_events(reader, source, ledger, written.cluster)
    ratios = [
        (pl.col(f"observed_{what}_{of}") / pl.col(f"requested_{what}")).alias(
            f"observed_{what}_{of}_ratio"
        )
        for what in ("cpu", "mem")
        for of in ("avg", "peak")
    ]
    start, end = pl.col("window_start_us"), pl.col("window_end_us")
    return (
        windows.with_columns(
            pl.lit(written.platform).alias("source_platform"),
            pl.lit(VERSION).alias("source_schema_version"),
            (end - start).alias("window_duration_us"),
            *(pl.when(ratio.is_finite()).then(ratio).alias(ratio.meta.output_name())
              for ratio in ratios),
            _ends(written.codes),
        )
        .select(COLUMNS)
        .sort(*_ORDER, "window_end_us")
    )  # fmt: skip


def write_windows(windows: pl.DataFrame, out: Path) -> None:
    """Write a new file, parquet or CSV by its name.

    Raises:
        InputError: it is there already, or cannot be written.
    """
    if out.suffix not in {".parquet", ".csv"}:
        raise InputError("--out", out, "give a name that ends in .parquet or .csv")
    try:
        with out.open("xb") as file:
            if out.suffix == ".csv":
                windows.write_csv(file)
            else:
                windows.write_parquet(file)
    except OSError as error:
        remedy = f"give a new file in a folder that can be written ({error.strerror})"
        raise InputError("--out", out, remedy) from error


def _ends(codes: str | None) -> pl.Expr:
    name = pl.col("terminal_event_type")
    if codes is None:
        return name
    table: Mapping[int, Kind] = cloud_neutral.NUMBERS[codes]
    numbers = {kind.name: number for number, kind in table.items() if kind in ENDS}
    return name.replace_strict(numbers, return_dtype=pl.Int64, default=None)


def _of_events(
    reader: EventReader, source: TraceInput, ledger: RepairLog, cluster: str
) -> pl.DataFrame:
    usage = None if reader.usage is None else _joined(reader.usage(source, ledger))
    if usage is None or usage.is_empty():
        remedy = "the form is of usage windows; give a trace that has them, such as google2019"
        raise InputError("--trace", reader.trace, remedy)
    usage = _with_starts(usage)
    events = _joined(reader.task_events(source, ledger))
    asked = ("cpu_request", "memory_request", "priority", "scheduling_class")
    facts = events.select("time_us", *_TASK, *asked)
    ends = events.filter(pl.col("kind").is_in([kind.value for kind in ENDS]))
    names = {kind.value: kind.name for kind in ENDS}
    named = pl.col("kind").replace_strict(names, return_dtype=pl.String)
    ended = ends.select(
        pl.col("time_us").alias("start_us"),
        *_TASK,
        pl.col("time_us").alias("terminal_event_time_us"),
        named.alias("terminal_event_type"),
    )
    asking = usage.sort("time_us").join_asof(
        facts, on="time_us", by=_TASK, strategy="backward", check_sortedness=False
    )
    joined = asking.sort("start_us").join_asof(
        ended,
        on="start_us",
        by=_TASK,
        strategy="forward",
        allow_exact_matches=False,
        check_sortedness=False,
    )
    machine = pl.col("machine")
    return joined.select(
        pl.lit(cluster).alias("source_cluster_id"),
        pl.col("job").cast(pl.String).alias("source_workload_id"),
        pl.col("task").cast(pl.String).alias("source_workload_instance_id"),
        pl.when(machine > 0).then(machine.cast(pl.String)).alias("source_node_id"),
        pl.col("start_us").alias("window_start_us"),
        pl.col("time_us").alias("window_end_us"),
        pl.col("cpu_mean").alias("observed_cpu_avg"),
        pl.col("cpu_max").alias("observed_cpu_peak"),
        pl.col("memory_mean").alias("observed_mem_avg"),
        pl.col("memory_max").alias("observed_mem_peak"),
        pl.col("cpu_request").alias("requested_cpu"),
        pl.col("memory_request").alias("requested_mem"),
        pl.col("priority").alias("workload_priority"),
        pl.col("scheduling_class").alias("workload_class"),
        "terminal_event_time_us",
        "terminal_event_type",
    )


def _with_starts(usage: pl.DataFrame) -> pl.DataFrame:
    """Return windows with a start each: a missing one is where the task's window before ended, if that is near.

    Otherwise it is a usual window's length before the end, the median between two ends of a task.
    """
    before = pl.col("time_us").shift(1).over(_TASK)
    gaps = usage.select(gap=pl.col("time_us") - before).drop_nulls().filter(pl.col("gap") > 0)
    usual = gaps.select(pl.col("gap").median().cast(pl.Int64)).item() or MINUTE_US
    start = pl.max_horizontal(before, pl.col("time_us") - usual)
    return usage.with_columns(
        pl.when(pl.col("start_us") >= 0).then("start_us").otherwise(start).alias("start_us")
    )


def _joined(frames: Frames) -> pl.DataFrame:
    parts = list(frames)
    return pl.concat(parts).sort("time_us", "row") if parts else pl.DataFrame()
