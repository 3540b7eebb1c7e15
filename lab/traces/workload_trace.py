"""One trace in the form that conversion, fitting and checking share.

Problem: each publisher has its own tables and codes. Guarantee: a `WorkloadTrace` holds machines and
pods in Kubernetes units (millicores, bytes, seconds), one row per pod life, whatever the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Literal

import polars as pl

from bus.errors import InputError

SECONDS_PER_HOUR = 3600
HOURS_PER_DAY = 24

NODE_COLUMNS = ("name", "shape", "cpu_millicores", "memory_bytes", "gpus", "gpu_model")
POD_COLUMNS = (
    "name",
    "class_name",
    "batch",  # pods with the same value were submitted together
    "cpu_millicores",
    "memory_bytes",
    "gpus",
    "arrive_seconds",
    "start_seconds",  # null: never placed
    "end_seconds",  # null: still there at the trace's end
    "running_seconds",  # time spent running; for pods never placed, time until they were deleted
    "outcome",  # succeed, fail, run (deleted while running, or still there)
)


@dataclass(frozen=True, slots=True)
class PodClass:
    """What the pods of one class are in Kubernetes terms."""

    name: str
    kind: str
    priority: int


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One file of the trace folder and what it gives."""

    path: str
    used_for: str


@dataclass(frozen=True, slots=True)
class WorkloadTrace:
    """Machines and pods of one trace; times in seconds of the trace.

    `reference_nodes` is the cluster size at which every pod of the trace is played.
    `cpu_windows` holds, by pod name, consecutive (seconds, cpu use over request) where the trace
    has them; `cpu_ratios` the mean use over request of each of its pods. Traces whose hours with
    most arrivals are bursts of one user's short jobs are played from their fullest hour instead.
    """

    name: str
    nodes: pl.DataFrame
    pods: pl.DataFrame
    classes: tuple[PodClass, ...]
    end_seconds: float
    reference_nodes: int
    reference_note: str
    hour_weights: tuple[float, ...]
    dropped: str
    files: tuple[TraceFile, ...]
    cpu_windows: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)
    cpu_ratios: tuple[float, ...] = ()
    busiest_by: Literal["arrivals", "load"] = "arrivals"

    def busiest_hour(self) -> tuple[int, int]:
        """Number of the clock hour that a play begins with, and its arrivals.

        The one with most arrivals, or at whose beginning most cpu is requested (`busiest_by`); the
        earlier wins a tie. Pods that were there when the trace began count for no hour, nor does a
        cut last hour.
        """
        hour = (pl.col("arrive_seconds") // SECONDS_PER_HOUR).cast(pl.Int64).alias("hour")
        counts = (
            self.pods.filter(pl.col("arrive_seconds") > 0)
            .group_by(hour)
            .len()
            .filter((pl.col("hour") + 1) * SECONDS_PER_HOUR <= self.end_seconds)
        )
        if self.busiest_by == "load":
            counts = counts.join(self._requested_by_hour(), on="hour")
        else:
            counts = counts.with_columns(pl.col("len").alias("weight"))
        ordered = counts.sort(["weight", "hour"], descending=[True, False])
        return int(ordered["hour"][0]), int(ordered["len"][0])

    def _requested_by_hour(self) -> pl.DataFrame:
        """Cpu requested by the pods there when each clock hour begins: hour, weight."""
        edges = [
            self.pods.select(
                (pl.col(column) / SECONDS_PER_HOUR).ceil().cast(pl.Int64).alias("hour"),
                (pl.col("cpu_millicores") * sign).alias("change"),
            ).drop_nulls()
            for column, sign in (("arrive_seconds", 1), ("end_seconds", -1))
        ]
        hours = pl.DataFrame({"hour": range(ceil(self.end_seconds / SECONDS_PER_HOUR) + 1)})
        changes = pl.concat(edges).group_by("hour").agg(pl.col("change").sum())
        return (
            hours.join(changes, on="hour", how="left")
            .sort("hour")
            .select("hour", pl.col("change").fill_null(0).cum_sum().alias("weight"))
        )

    def running_at(self, seconds: float) -> pl.DataFrame:
        """Pods placed at some time that had arrived and not ended; `left_seconds` is what they
        still run (null: beyond the trace).
        """
        end = pl.col("end_seconds")
        left = pl.min_horizontal(end - seconds, pl.col("running_seconds"))
        return self.pods.filter(
            pl.col("arrive_seconds") < seconds,
            pl.col("start_seconds").is_not_null(),
            end.is_null() | (end > seconds),
        ).with_columns(pl.when(end.is_null()).then(None).otherwise(left).alias("left_seconds"))

    def load_ratio(self, seconds: float) -> tuple[float, float]:
        """Requested cpu and memory of the pods there, over the capacity of all machines."""
        pods = self.running_at(seconds)
        return (
            float(pods["cpu_millicores"].sum()) / float(self.nodes["cpu_millicores"].sum()),
            float(pods["memory_bytes"].sum()) / float(self.nodes["memory_bytes"].sum()),
        )


def hour_weights(arrive_seconds: pl.Series) -> tuple[float, ...]:
    """Weight of each hour of day among arrivals; they add up to 24."""
    hours = (arrive_seconds // SECONDS_PER_HOUR % HOURS_PER_DAY).cast(pl.Int64)
    counts = dict(hours.value_counts().rows())
    total = len(arrive_seconds)
    return tuple(counts.get(hour, 0) * HOURS_PER_DAY / total for hour in range(HOURS_PER_DAY))


SHORTEST_SECONDS, LONGEST_SECONDS = SECONDS_PER_HOUR, 5 * 366 * HOURS_PER_DAY * SECONDS_PER_HOUR
"""A trace in a coarser or finer unit of time than its reader's is a thousand times shorter or longer than it was."""
_PLAUSIBLE_NODE = {
    "cpu_millicores": (100, 2_000_000, "thousandths of a core"),
    "memory_bytes": (2**27, 2**46, "bytes"),
}


def check_units(trace: WorkloadTrace) -> None:
    """Refuse a trace whose length or machines are so far from any cluster's that a column has another unit.

    Raises:
        InputError: it lasts less than an hour or more than five years, or half of its machines are smaller than a
            tenth of a core or 128 MiB, or larger than 2,000 cores or 64 TiB.
    """
    field = f"{trace.name} times in {trace.files[0].path}"
    if not SHORTEST_SECONDS <= trace.end_seconds <= LONGEST_SECONDS:
        remedy = "read as published it lasts hours to years: give the times in the published unit"
        raise InputError(field, f"{trace.end_seconds:g} s from first to last", remedy)
    for column, (least, most, unit) in _PLAUSIBLE_NODE.items():
        median = trace.nodes[column].median()
        if not isinstance(median, int | float) or not least <= median <= most:
            remedy = (
                f"half of the machines would be smaller than {least} or larger than {most} {unit}"
            )
            raise InputError(f"{trace.name} machines {column}", median, remedy)


def require(data_dir: Path, relative: str) -> Path:
    """Path of a trace file; raises InputError when it is not there."""
    path = data_dir / relative
    if not path.is_file():
        raise InputError(
            field="FORESAIL_DATA",
            value=str(data_dir),
            remedy=f"give the folder that holds {relative}, or unset it for the fitted model",
        )
    return path
