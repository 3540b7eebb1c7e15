"""What the trace itself says: who waited, who was never scheduled, and whether they could have been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from lab.traces.workload_trace import WorkloadTrace
from twin.port.workloads import LargestNode, NodeShape, WorkloadArrival


@dataclass(frozen=True, slots=True)
class TraceWaits:
    """Waits of the trace's pods, and what is known of those that never got a node."""

    waits: list[float]
    """Seconds from creation to scheduling; the trace has whole seconds."""
    half_minute: float
    """Share of the waits that took 30 to 40 s."""
    never: int
    never_too_large: int
    """Of these: no node of the cluster could hold them, even empty."""
    never_median_life_seconds: float
    """Of these: time from creation to deletion."""


def trace_waits(trace: WorkloadTrace, nodes: Sequence[NodeShape]) -> TraceWaits:
    """Read waits from the trace form."""
    pods = trace.pods
    placed = pods.filter(pl.col("start_seconds").is_not_null())
    never = pods.filter(pl.col("start_seconds").is_null())
    lives = pl.col("running_seconds")
    room = LargestNode(nodes)
    too_large = sum(not room.holds(_probe(row)) for row in never.iter_rows(named=True))
    waits: list[float] = (placed["start_seconds"] - placed["arrive_seconds"]).to_list()
    return TraceWaits(
        waits=waits,
        half_minute=sum(30 <= wait <= 40 for wait in waits) / max(len(waits), 1),
        never=len(never),
        never_too_large=too_large,
        never_median_life_seconds=float(never.select(lives.median()).item() or 0.0),
    )


def _probe(row: dict[str, object]) -> WorkloadArrival:
    cpu, memory, gpus = (row[name] for name in ("cpu_millicores", "memory_bytes", "gpus"))
    assert isinstance(cpu, int)
    assert isinstance(memory, int)
    assert isinstance(gpus, int)
    return WorkloadArrival(0.0, "probe", "task", cpu, memory, gpus, 0.0, 0.0, None, "run")
