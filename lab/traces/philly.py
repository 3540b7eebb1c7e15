"""Read the Microsoft Philly trace (2017): jobs of a GPU cluster, as sanitised for Pollux.

Read as: each job is a task. A job of more than 8 GPUs was spread over machines: it becomes pods of
8 GPUs and one of the rest, submitted together. The jobs have no status here, so all succeed.
Machines: the trace's machine list has 321 machines of 2 GPUs and 231 of 8 GPUs, and its memory
table shows 504 GiB. Not published, and assumed here: 48 cores a machine, and 4 cores and 32 GiB
requested for each GPU. GPU figures are the trace's; those of cpu and memory follow from them.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from lab.traces.machines import BYTES_PER_GIB, MachineKind, machine_rows
from lab.traces.trace_reader import CC_BY, CC_BY_URL, REDUCED, Publication, TraceReader
from lab.traces.wide_jobs import split_wide_jobs
from lab.traces.workload_trace import (
    PodClass,
    TraceFile,
    WorkloadTrace,
    hour_weights,
    require,
)

JOB_FILE = "replay/philly_gpu_jobs.parquet"
MACHINES = (MachineKind(321, 48, 504, 2, "12GB"), MachineKind(231, 48, 504, 8, "24GB"))
LARGEST_GPUS = 8
MILLICORES_PER_GPU = 4_000
BYTES_PER_GPU = 32 * BYTES_PER_GIB
CLASSES = (PodClass("training", "task", 0),)


def read_philly(data_dir: Path) -> WorkloadTrace:
    """Read the job list; raises InputError when it is missing."""
    nodes = machine_rows("philly-machine", MACHINES)
    jobs = _jobs(pl.read_parquet(require(data_dir, JOB_FILE)))
    pods = split_wide_jobs(
        jobs,
        units="num_gpus",
        most_units=LARGEST_GPUS,
        class_name="training",
        requests=_requests,
    )
    return WorkloadTrace(
        name="philly",
        nodes=nodes,
        pods=pods,
        classes=CLASSES,
        end_seconds=float(jobs.select(pl.col("arrive_seconds").max()).item()),
        reference_nodes=len(nodes),
        reference_note=(
            f"load ratio of GPUs kept: {len(nodes)} machines with 2,490 GPUs carry all jobs; "
            "cpu and memory are assumed from the GPUs (4 cores, 32 GiB each)"
        ),
        hour_weights=hour_weights(jobs["arrive_seconds"]),
        dropped="no row",
        files=(TraceFile(JOB_FILE, "arrivals, durations, GPUs (machine counts: trace's list)"),),
        busiest_by="load",
    )


def _jobs(raw: pl.DataFrame) -> pl.DataFrame:
    """Jobs in order of submission; times in seconds since midnight before the first."""
    at = pl.col("submit_time")
    stamps = raw.with_row_index("row").sort("submit_time", "row")
    return stamps.select(
        pl.format("philly-{}", pl.int_range(pl.len())).alias("job"),
        (at - at.min().dt.truncate("1d"))
        .dt.total_seconds()
        .cast(pl.Float64)
        .alias("arrive_seconds"),
        pl.col("duration_s").cast(pl.Float64).alias("running_seconds"),
        pl.col("num_gpus").cast(pl.Int64),
    )


def _requests(gpus: pl.Expr) -> dict[str, pl.Expr]:
    return {
        "cpu_millicores": gpus * MILLICORES_PER_GPU,
        "memory_bytes": gpus * BYTES_PER_GPU,
        "gpus": gpus,
    }


TRACE = TraceReader(
    name="philly",
    read_workload=read_philly,
    publication=Publication(
        title="Microsoft Philly traces (2017)",
        publisher="github.com/msr-fiddle/philly-traces; as a job list by github.com/pkusys/ElasticFlow",
        licence=CC_BY,
        licence_url=CC_BY_URL,
        attribution="msr-fiddle/philly-traces, Microsoft; Jeon et al., Analysis of Large-Scale "
        "Multi-Tenant GPU Clusters for DNN Training Workloads, USENIX ATC'19",
        changes=(
            REDUCED,
            "jobs of more than 8 GPUs as several pods; cpu and memory assumed from the GPUs",
            "20 % of the jobs were held out beforehand",
        ),
    ),
)
