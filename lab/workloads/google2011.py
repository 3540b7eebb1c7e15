"""Read the Google cluster trace of 2011: task events of one Borg cell, parts 0 to 13 (19.7 h).

Read as: one life of a task goes from its submission to FAIL, FINISH or KILL. An EVICT does not
end it, for the twin's own scheduler and controllers evict; the time it then waits is not counted
as running. A new submission after an end is a new life. KILL (by its user) is a deletion.

Scale: requests are fractions of the largest machine, here 64 cores and 256 GiB. The commonest
machine (0.5 cpu) so becomes 32 cores, a size common today, at the 4 GiB per core of general
purpose machines. Ratios do not depend on this choice.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from lab.workloads.trace import (
    NODE_COLUMNS,
    POD_COLUMNS,
    SECONDS_PER_HOUR,
    PodClass,
    Trace,
    TraceFile,
    require,
)

TASK_FILE = "google2011/task_events.parquet"
MACHINE_FILE = "google2011/machine_events.parquet"
JOB_FILE = "google2011/job_events.parquet"
LARGEST_CPU_MILLICORES = 64_000
LARGEST_MEMORY_BYTES = 256 * 2**30
LAST_CONTIGUOUS_PART = 13  # part 14 is missing and what follows has no state of its own
MICROSECONDS = 1_000_000
HOURS_PER_DAY = 24
BATCH_SECONDS = 10  # tasks of one job that arrive within these were submitted together
SUBMIT, SCHEDULE, EVICT, FAIL, FINISH, KILL, LOST = range(7)
ENDS = (FAIL, FINISH, KILL, LOST)
CLASSES = (
    PodClass("production-service", "service", 9),
    PodClass("production-task", "task", 9),
    PodClass("batch", "task", 2),
    PodClass("free", "task", 0),
)


def read_google2011(data_dir: Path) -> Trace:
    """Read task, machine and job events; raises InputError when a file is missing."""
    nodes = _nodes(pl.read_parquet(require(data_dir, MACHINE_FILE)))
    events = (
        pl.scan_parquet(require(data_dir, TASK_FILE))
        .filter(pl.col("part") <= LAST_CONTIGUOUS_PART, pl.col("event_type") <= LOST)
        .collect()
    )
    end_seconds = float(events.select(pl.col("time").max()).item()) / MICROSECONDS
    known = events.filter(pl.col("cpu_request").is_not_null())
    return Trace(
        name="google2011",
        nodes=nodes,
        pods=_pods(known, end_seconds),
        classes=CLASSES,
        end_seconds=end_seconds,
        reference_nodes=len(nodes),
        reference_note=f"load ratio kept: {len(nodes)} trace machines carry all of its tasks",
        hour_weights=_hour_weights(pl.read_parquet(require(data_dir, JOB_FILE))),
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
        raw.filter(pl.col("time") == 0, pl.col("cpus") > 0, pl.col("memory") > 0)
        .unique("machine_id", keep="first", maintain_order=True)
        .select(
            pl.format("g11-machine-{}", "machine_id").alias("name"),
            pl.format("{}c-{}g", cpu // 1000, memory // 2**30).alias("shape"),
            cpu.alias("cpu_millicores"),
            memory.alias("memory_bytes"),
            pl.lit(0, pl.Int64).alias("gpus"),
            pl.lit("").alias("gpu_model"),
        )
        .select(NODE_COLUMNS)
    )


def _class_name() -> pl.Expr:
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


def _lives(events: pl.DataFrame, end_seconds: float) -> pl.DataFrame:
    """Events by task with `life`, the number of their life over all tasks, and on SCHEDULE rows
    the seconds that run lasted. Neighbours are compared in sorted order: windows over half a
    million tasks would take ten times as long.
    """
    new_task = pl.struct("job_id", "task_index").ne_missing(
        pl.struct("job_id", "task_index").shift(1)
    )
    ended_before = pl.col("event_type").shift(1).is_in(ENDS).fill_null(False)
    same_life_follows = pl.col("life").shift(-1) == pl.col("life")
    following = pl.when(same_life_follows).then(pl.col("seconds").shift(-1)).otherwise(end_seconds)
    return (
        events.sort("job_id", "task_index", maintain_order=True)
        .with_columns(
            (new_task | ended_before).cum_sum().alias("life"),
            (pl.col("time") / MICROSECONDS).alias("seconds"),
        )
        .with_columns(
            pl.when(pl.col("event_type") == SCHEDULE)
            .then(following - pl.col("seconds"))
            .alias("ran_seconds")
        )
    )


def _pods(events: pl.DataFrame, end_seconds: float) -> pl.DataFrame:
    kind, seconds = pl.col("event_type"), pl.col("seconds")
    ended = kind.last().is_in(ENDS)
    lives = (
        _lives(events, end_seconds)
        .group_by("life", maintain_order=True)
        .agg(
            pl.col("job_id", "task_index").first(),
            seconds.first().alias("arrive_seconds"),
            seconds.filter(kind == SCHEDULE).first().alias("start_seconds"),
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
    earlier = pl.col("life") - pl.col("life").min().over("job_id", "task_index")
    again = pl.when(earlier > 0).then(pl.format("-{}", earlier)).otherwise(pl.lit(""))
    part = (pl.col("arrive_seconds") // BATCH_SECONDS).cast(pl.Int64)
    waited = pl.coalesce("end_seconds", pl.lit(end_seconds)) - pl.col("arrive_seconds")
    return lives.select(
        (pl.format("g11-{}-{}", "job_id", "task_index") + again).alias("name"),
        _class_name().alias("class_name"),
        pl.format("{}/{}", "job_id", part).alias("batch"),
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
        pl.when(pl.col("last_event") == FAIL)
        .then(pl.lit("fail"))
        .when(pl.col("last_event") == FINISH)
        .then(pl.lit("succeed"))
        .otherwise(pl.lit("run"))
        .alias("outcome"),
    ).select(POD_COLUMNS)


def _hour_weights(raw: pl.DataFrame) -> tuple[float, ...]:
    submitted = raw.filter(pl.col("event_type") == SUBMIT, pl.col("time") > 0)
    hour = submitted["time"] // (MICROSECONDS * SECONDS_PER_HOUR) % HOURS_PER_DAY
    counts = dict(hour.value_counts().rows())
    return tuple(
        counts.get(hour, 0) * HOURS_PER_DAY / len(submitted) for hour in range(HOURS_PER_DAY)
    )
