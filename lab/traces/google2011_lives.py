"""The 2011 Google trace as a workload: what the event reader of `lab.traces.google2011` gives, as machines
and pods.

Read as: one life of a task goes from its submission to FAIL, FINISH or KILL. An EVICT does not
end it, for the twin's own scheduler and controllers evict; the time it then waits is not counted
as running. A new submission after an end is a new life. KILL (by its user) is a deletion. Only the first
stretch without a hole counts, parts 0 to 13 (19.7 h): what follows has no state of its own.

Scale: requests are fractions of the largest machine, here 64 cores and 256 GiB. The commonest
machine (0.5 cpu) so becomes 32 cores, a size common today, at the 4 GiB per core of general
purpose machines. Ratios do not depend on this choice.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from features.history import Kind
from lab.traces.event_reader import EventReader, TraceInput
from lab.traces.events import MICROSECONDS
from lab.traces.repair import RepairLog
from lab.traces.workload_trace import (
    HOURS_PER_DAY,
    NODE_COLUMNS,
    POD_COLUMNS,
    SECONDS_PER_HOUR,
    PodClass,
    TraceFile,
    WorkloadTrace,
    require,
)

TASK_FILE = "google2011/task_events.parquet"
MACHINE_FILE = "google2011/machine_events.parquet"
JOB_FILE = "google2011/job_events.parquet"
FIRST_SEGMENT = 0
LARGEST_CPU_MILLICORES = 64_000
LARGEST_MEMORY_BYTES = 256 * 2**30
BATCH_SECONDS = 10  # tasks of one job that arrive within these were submitted together
ENDS = (Kind.FAIL, Kind.FINISH, Kind.KILL, Kind.LOST)
"""What ends a life; an eviction does not."""
CLASSES = (
    PodClass("production-service", "service", 9),
    PodClass("production-task", "task", 9),
    PodClass("batch", "task", 2),
    PodClass("free", "task", 0),
)


def workload_of(reader: EventReader, data_dir: Path) -> WorkloadTrace:
    """Return the machines and pods of the trace's task, machine and job events.

    Raises:
        InputError: a file is missing, or not in the trace's form.
    """
    files = {
        "machine_events": require(data_dir, MACHINE_FILE),
        "task_events": require(data_dir, TASK_FILE),
        "job_events": require(data_dir, JOB_FILE),
    }
    source = TraceInput(data_dir, {table: (path,) for table, path in files.items()})
    assert reader.machine_events is not None
    assert reader.job_events is not None
    ledger = RepairLog(repair=False)
    nodes = _nodes(pl.concat(reader.machine_events(source, ledger)))
    events = pl.concat(
        frame.filter(pl.col("segment") == FIRST_SEGMENT, pl.col("kind") != Kind.OTHER)
        for frame in reader.task_events(source, ledger)
    )
    end_seconds = float(events.select(pl.col("time_us").max()).item()) / MICROSECONDS
    known = events.filter(pl.col("cpu_request").is_not_null())
    return WorkloadTrace(
        name=reader.trace,
        nodes=nodes,
        pods=_pods(known, end_seconds),
        classes=CLASSES,
        end_seconds=end_seconds,
        reference_nodes=len(nodes),
        reference_note=f"load ratio kept: {len(nodes)} trace machines carry all of its tasks",
        hour_weights=_hour_weights(pl.concat(reader.job_events(source, ledger))),
        dropped=f"{len(events) - len(known)} task events without a request",
        files=(
            TraceFile(MACHINE_FILE, "machine shapes (machines present at the start)"),
            TraceFile(TASK_FILE, "requests, arrivals, durations, outcomes (parts 0 to 13)"),
            TraceFile(JOB_FILE, "weight of each hour of day (job submissions of 29 days)"),
        ),
    )


def _nodes(raw: pl.DataFrame) -> pl.DataFrame:
    cpu = (pl.col("cpus") * LARGEST_CPU_MILLICORES).round().cast(pl.Int64)
    memory = (pl.col("memory") * LARGEST_MEMORY_BYTES).round().cast(pl.Int64)
    return (
        raw.filter(pl.col("time_us") == 0, pl.col("cpus") > 0, pl.col("memory") > 0)
        .unique("machine", keep="first", maintain_order=True)
        .select(
            pl.format("g11-machine-{}", "machine").alias("name"),
            pl.format("{}c-{}g", cpu // 1000, memory // 2**30).alias("shape"),
            cpu.alias("cpu_millicores"),
            memory.alias("memory_bytes"),
            pl.lit(0, pl.Int64).alias("gpus"),
            pl.lit("").alias("gpu_model"),
        )
        .select(NODE_COLUMNS)
    )


def class_name() -> pl.Expr:
    """Return the class of a task by priority and scheduling class, a name of `CLASSES`."""
    production = pl.col("priority") >= 9
    sensitive = pl.col("scheduling_class") >= 2
    return (
        pl.when(production & sensitive)
        .then(pl.lit("production-service"))
        .when(production)
        .then(pl.lit("production-task"))
        .when(pl.col("priority") >= 2)
        .then(pl.lit("batch"))
        .otherwise(pl.lit("free"))
    )


def lives_of(events: pl.DataFrame, end_seconds: float) -> pl.DataFrame:
    """Events by task with `life`, the number of their life over all tasks, and on SCHEDULE rows
    the seconds that run lasted. Neighbours are compared in sorted order: windows over half a
    million tasks would take ten times as long.
    """
    new_task = pl.struct("job", "task").ne_missing(pl.struct("job", "task").shift(1))
    ended_before = pl.col("kind").shift(1).is_in(ENDS).fill_null(False)
    same_life_follows = pl.col("life").shift(-1) == pl.col("life")
    following = pl.when(same_life_follows).then(pl.col("seconds").shift(-1)).otherwise(end_seconds)
    return (
        events.sort("job", "task", maintain_order=True)
        .with_columns(
            (new_task | ended_before).cum_sum().alias("life"),
            (pl.col("time_us") / MICROSECONDS).alias("seconds"),
        )
        .with_columns(
            pl.when(pl.col("kind") == Kind.SCHEDULE)
            .then(following - pl.col("seconds"))
            .alias("ran_seconds")
        )
    )


def _pods(events: pl.DataFrame, end_seconds: float) -> pl.DataFrame:
    kind, seconds = pl.col("kind"), pl.col("seconds")
    ended = kind.last().is_in(ENDS)
    lives = (
        lives_of(events, end_seconds)
        .group_by("life", maintain_order=True)
        .agg(
            pl.col("job", "task").first(),
            seconds.first().alias("arrive_seconds"),
            seconds.filter(kind == Kind.SCHEDULE).first().alias("start_seconds"),
            pl.when(ended).then(seconds.last()).alias("end_seconds"),
            pl.col("ran_seconds").sum().alias("running_seconds"),
            kind.last().alias("last_event"),
            (pl.col("cpu_request").last().cast(pl.Float64) * LARGEST_CPU_MILLICORES)
            .round()
            .cast(pl.Int64)
            .alias("cpu_millicores"),
            (pl.col("memory_request").last().cast(pl.Float64) * LARGEST_MEMORY_BYTES)
            .round()
            .cast(pl.Int64)
            .alias("memory_bytes"),
            pl.col("priority").last(),
            pl.col("scheduling_class").last(),
        )
    )
    earlier = pl.col("life") - pl.col("life").min().over("job", "task")
    again = pl.when(earlier > 0).then(pl.format("-{}", earlier)).otherwise(pl.lit(""))
    part = (pl.col("arrive_seconds") // BATCH_SECONDS).cast(pl.Int64)
    waited = pl.coalesce("end_seconds", pl.lit(end_seconds)) - pl.col("arrive_seconds")
    return lives.select(
        (pl.format("g11-{}-{}", "job", "task") + again).alias("name"),
        class_name().alias("class_name"),
        pl.format("{}/{}", "job", part).alias("batch"),
        "cpu_millicores",
        "memory_bytes",
        pl.lit(0, pl.Int64).alias("gpus"),
        "arrive_seconds",
        "start_seconds",
        "end_seconds",
        pl.when(pl.col("start_seconds").is_null())
        .then(waited)
        .otherwise(pl.col("running_seconds"))
        .alias("running_seconds"),
        pl.when(pl.col("last_event") == Kind.FAIL)
        .then(pl.lit("fail"))
        .when(pl.col("last_event") == Kind.FINISH)
        .then(pl.lit("succeed"))
        .otherwise(pl.lit("run"))
        .alias("outcome"),
    ).select(POD_COLUMNS)


def _hour_weights(raw: pl.DataFrame) -> tuple[float, ...]:
    submitted = raw.filter(pl.col("kind") == Kind.SUBMIT, pl.col("time_us") > 0)
    hour = submitted["time_us"] // (MICROSECONDS * SECONDS_PER_HOUR) % HOURS_PER_DAY
    counts = dict(hour.value_counts().rows())
    return tuple(
        counts.get(hour, 0) * HOURS_PER_DAY / len(submitted) for hour in range(HOURS_PER_DAY)
    )
