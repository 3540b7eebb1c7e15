"""Philly and SURF as jobs: the pods that were submitted together are one job.

Neither trace says what users expected. Estimates are drawn by the "f model" (between the truth and five times the
truth) and rounded up to whole minutes, once and for all by the trace's name; results that depend on it say so.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from random import Random

import polars as pl

from lab.learning.jobs import Amounts, Job
from lab.traces.registry import read_workload_trace

MOST_OVERESTIMATE = 4.0
MINUTE_SECONDS = 60.0
KINDS = {"philly": "ml", "surf": "batch"}
TRACES = tuple(KINDS)


def trace_jobs(name: str, data_dir: Path) -> list[Job]:
    """Return all jobs of a trace in order of arrival.

    Raises:
        InputError: no trace has that name, or a file of it is missing.
    """
    users = Random(f"{name}/estimates")
    pods = read_workload_trace(name, data_dir).pods
    rows = (
        pods.group_by("batch", maintain_order=True)
        .agg(
            pl.col("arrive_seconds").first(),
            pl.col("running_seconds").max(),
            pl.col("cpu_millicores", "memory_bytes", "gpus").sum(),
            pl.len().alias("pods"),
        )
        .filter(pl.col("running_seconds") > 0)
        .sort("arrive_seconds", maintain_order=True)
    )
    jobs = []
    for job, at, seconds, cpu, memory, gpus, count in rows.iter_rows():
        estimate = seconds * (1.0 + MOST_OVERESTIMATE * users.random())
        jobs.append(
            Job(
                name=job,
                arrival_seconds=at,
                requests=Amounts(cpu, memory, gpus),
                estimate_seconds=MINUTE_SECONDS * ceil(estimate / MINUTE_SECONDS),
                true_seconds=seconds,
                kind=KINDS[name],
                pods=count,
            )
        )
    return jobs
