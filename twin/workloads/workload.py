"""What the twin plays: nodes, and arrivals in order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twin.workloads.arrival import NodeShape, WorkloadArrival

CARRIED_IN_SECONDS = 10.0  # what already ran when the window opens arrives within these


@dataclass(frozen=True, slots=True)
class Workload:
    """One opened workload.

    `arrivals` is ordered by `time_seconds` (since the start) and can be walked once; it is
    endless for fitted models and ends with the last row for files. `arrivals_per_hour` is the
    rate of the first hour without the carried-in set, per hour of cluster time.
    """

    nodes: list[NodeShape]
    arrivals: Iterator[WorkloadArrival]
    description: list[str]
    arrivals_per_hour: float
    history_files: tuple[Path, ...] = ()
    """Files that tell of the time before it; whoever looks after the cluster may know them."""


def carried_in_time(index: int, count: int) -> float:
    """Arrival time of the `index`-th of `count` carried-in pods, spread over the first seconds."""
    return CARRIED_IN_SECONDS * index / count
