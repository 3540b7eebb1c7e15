"""Workloads of the embedded cluster: machine shapes and pods that arrive over time.

Reads: a fitted model shipped with the package, or a workload file (docs/workloads.md).
Gives: nodes, and arrivals in order of time, the same for the same name, size and seed.
Keeps out: trace files and polars; `lab.workloads` turns traces into models and files.
"""

from __future__ import annotations

from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.catalog import FITTED, IDLE, NAMES, open_workload
from twin.workloads.speed import suggest_speed
from twin.workloads.workload import Workload

__all__ = [
    "FITTED",
    "IDLE",
    "NAMES",
    "NodeShape",
    "Workload",
    "WorkloadArrival",
    "open_workload",
    "suggest_speed",
]
