"""One trace in the form that conversion, fitting and checking share.

Problem: each publisher has its own tables and codes. Guarantee: a `Trace` holds machines and
pods in Kubernetes units (millicores, bytes, seconds), one row per pod life, whatever the source.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bus.errors import InputError

SECONDS_PER_HOUR = 3600

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
class Trace:
    """Machines and pods of one trace; times in seconds of the trace.

    `reference_nodes` is the cluster size at which every pod of the trace is played.
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

    def busiest_hour(self) -> tuple[int, int]:
        """Number of the clock hour with most arrivals (earlier wins a tie), and that count.

        Pods that were there when the trace began count for no hour, nor does a cut last hour.
        """
        hour = (pl.col("arrive_seconds") // SECONDS_PER_HOUR).cast(pl.Int64).alias("hour")
        counts = (
            self.pods.filter(pl.col("arrive_seconds") > 0)
            .group_by(hour)
            .len()
            .filter((pl.col("hour") + 1) * SECONDS_PER_HOUR <= self.end_seconds)
            .sort(["len", "hour"], descending=[True, False])
        )
        return int(counts["hour"][0]), int(counts["len"][0])

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
