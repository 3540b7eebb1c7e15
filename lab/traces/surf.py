"""Read the SURF trace of OpenDC's archive: a week of the Lisa cluster, October 2022.

Read as: each job is a task that succeeds; one of 0 s lasts 1 s. A job of more than 16 cores ran on
several machines: it becomes pods of at most 16 cores, submitted together. Its fragments are windows
of cpu use over its life as a share of its machines, kept as at most 32 windows by means over equal
numbers of fragments. Memory is a placeholder in the trace: a job requests 4 GiB for each core (the
smallest nodes have 6), because nobody gives a pod all of a node's memory.
Machines: SURF's own page "Lisa hardware and file systems", 349 nodes. GPUs are counted, but the
trace does not say which jobs used them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from lab.traces.machines import BYTES_PER_GIB, MachineKind, machine_rows
from lab.traces.trace_reader import MIT, MIT_URL, REDUCED, Publication, TraceReader
from lab.traces.wide_jobs import split_wide_jobs
from lab.traces.workload_trace import (
    PodClass,
    TraceFile,
    WorkloadTrace,
    hour_weights,
    require,
)

TASK_FILE = "replay/surf22_tasks.parquet"
FRAGMENT_FILE = "replay/surf22_fragments.parquet"
MACHINES = (
    MachineKind(192, 16, 96, 0, ""),
    MachineKind(96, 16, 96, 0, ""),
    MachineKind(29, 24, 192, 4, "TitanRTX"),
    MachineKind(23, 12, 256, 4, "GTX1080Ti"),
    MachineKind(6, 52, 376, 0, ""),
    MachineKind(2, 12, 256, 4, "TitanV"),
    MachineKind(1, 48, 2048, 0, ""),
)
BYTES_PER_CORE = 4 * BYTES_PER_GIB
CORES_PER_POD = 16
MOST_WINDOWS = 32
MILLISECONDS = 1000.0
CLASSES = (PodClass("job", "task", 0),)


def read_surf(data_dir: Path) -> WorkloadTrace:
    """Read jobs and fragments; raises InputError when a file is missing."""
    nodes = machine_rows("lisa", MACHINES)
    tasks = _tasks(pl.read_parquet(require(data_dir, TASK_FILE)))
    windows = _windows(pl.read_parquet(require(data_dir, FRAGMENT_FILE)), tasks)
    pods = split_wide_jobs(
        tasks, units="cores", most_units=CORES_PER_POD, class_name="job", requests=_requests
    )
    return WorkloadTrace(
        name="surf",
        nodes=nodes,
        pods=pods,
        classes=CLASSES,
        end_seconds=float(tasks.select(pl.col("arrive_seconds").max()).item()),
        reference_nodes=len(nodes),
        reference_note=(
            f"load ratio of cpu kept: {len(nodes)} machines carry all jobs; memory is assumed "
            "(4 GiB for each core)"
        ),
        hour_weights=hour_weights(tasks["arrive_seconds"]),
        dropped="no row",
        files=(
            TraceFile(TASK_FILE, "arrivals, durations, cores (machines: SURF's hardware page)"),
            TraceFile(FRAGMENT_FILE, "cpu use over each job's life"),
        ),
        cpu_windows=_by_pod(windows, pods),
        cpu_ratios=_mean_ratios(windows),
        busiest_by="load",
    )


def _tasks(raw: pl.DataFrame) -> pl.DataFrame:
    """Jobs in order of submission; times in seconds since midnight before the first."""
    at = pl.col("submission_time")
    since = at - at.min().dt.truncate("1d")
    return raw.sort("submission_time", "id").with_columns(
        (since.dt.total_milliseconds() / MILLISECONDS).alias("arrive_seconds"),
        (pl.col("duration") / MILLISECONDS).clip(lower_bound=1.0).alias("running_seconds"),
        pl.format("surf-{}", "id").alias("job"),
        pl.col("cpu_count").cast(pl.Int64).alias("cores"),
    )


def _windows(fragments: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """At most MOST_WINDOWS windows per job in order: job, seconds, ratio (use over request)."""
    index, count = pl.int_range(pl.len()).over("id"), pl.len().over("id")
    run = (count + MOST_WINDOWS - 1) // MOST_WINDOWS
    seconds = pl.col("duration") / MILLISECONDS
    return (
        fragments.filter(pl.col("duration") > 0)
        .with_columns((index // run).alias("window"))
        .group_by("id", "window", maintain_order=True)
        .agg(
            seconds.sum().round(3).alias("seconds"),
            (seconds * pl.col("cpu_usage")).sum().alias("used"),
        )
        .join(
            tasks.select("id", "job", "cpu_capacity"), on="id", how="inner", maintain_order="left"
        )
        .with_columns(
            (pl.col("used") / (pl.col("seconds") * pl.col("cpu_capacity"))).round(4).alias("ratio")
        )
        .select("job", "seconds", "ratio")
    )


def _by_pod(windows: pl.DataFrame, pods: pl.DataFrame) -> dict[str, list[tuple[float, float]]]:
    """Windows by pod; the pods of one job share them."""
    by_job: dict[str, list[tuple[float, float]]] = {}
    for job, seconds, ratio in windows.iter_rows():
        by_job.setdefault(job, []).append((seconds, ratio))
    rows = pods.select("name", "batch").iter_rows()
    return {name: by_job[job] for name, job in rows if job in by_job}


def _mean_ratios(windows: pl.DataFrame) -> tuple[float, ...]:
    used = (pl.col("seconds") * pl.col("ratio")).sum() / pl.col("seconds").sum()
    means = windows.group_by("job").agg(used.alias("mean"))
    return tuple(sorted(means["mean"].to_list()))


def _requests(cores: pl.Expr) -> dict[str, pl.Expr]:
    return {
        "cpu_millicores": cores * 1000,
        "memory_bytes": cores * BYTES_PER_CORE,
        "gpus": pl.lit(0, pl.Int64),
    }


TRACE = TraceReader(
    name="surf",
    read_workload=read_surf,
    publication=Publication(
        title="SURF Lisa cluster, October 2022, in the form of OpenDC",
        publisher="github.com/atlarge-research/trace-archive",
        licence=MIT,
        licence_url=MIT_URL,
        attribution="SURF Lisa workload trace, trace-archive, (c) 2024 AtLarge Research",
        changes=(
            REDUCED,
            "memory requests assumed; machines from SURF's page on Lisa's hardware",
            "20 % of the jobs were held out beforehand",
        ),
    ),
)
