"""Default rows of tables for tests, and builders of layer 1 (snapshots).

`tests.builders` offers them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas.frames import FullState, frame_of
from schemas.snapshot import (
    NodeTable,
    PlacementTable,
    PodTable,
    SnapshotNodes,
    SnapshotPlacements,
    SnapshotWorkloads,
    SourceRead,
    WorkloadTable,
)
from schemas.tables import table_of

START_SECONDS = 1_767_225_600.0
"""2026-01-01T00:00:00Z, where simulated clusters begin."""
INTERVAL_SECONDS = 10.0
GIB = 2**30
Rows = Mapping[str, Mapping[str, Any]]

NODE = {
    "ready": True,
    "schedulable": True,
    "power_state": "on",
    "cpu_allocatable_cores": 16.0,
    "memory_allocatable_bytes": 64 * GIB,
    "cpu_requested_ratio": 0.5,
    "memory_requested_ratio": 0.5,
    "cpu_used_ratio": None,
    "memory_used_ratio": None,
    "pods": 10,
    "unhealthy_pods": 0,
    "restarted_pods": 0,
    "clock_scale_ratio": 1.0,
    "memory_scale_ratio": 1.0,
    "cpu_cap_ratio": 1.0,
    "memory_cap_ratio": 1.0,
}
"""An observed node of which nothing is remarkable."""

POD = {
    "node": "",
    "workload": "",
    "phase": "Pending",
    "pending_class": None,
    "urgency_ratio": 1.0,
    "restarts": 0,
    "alive": True,
    "waiting_seconds": 0.0,
}

SNAPSHOT_NODE = {
    "ready": True,
    "schedulable": True,
    "cpu_allocatable_cores": 16.0,
    "memory_allocatable_bytes": 64 * GIB,
    "pods_allocatable": 110,
    "gpus_allocatable": 0,
    "cpu_usage_cores": None,
    "memory_usage_bytes": None,
    "usage_time_seconds": None,
    "power_state": "on",
    "clock_scale_ratio": 1.0,
    "memory_scale_ratio": 1.0,
    "cpu_cap_ratio": 1.0,
    "memory_cap_ratio": 1.0,
    "created_time_seconds": START_SECONDS,
    "ready_time_seconds": START_SECONDS,
}

SNAPSHOT_POD = {
    "uid": "",
    "node": "",
    "workload": "",
    "phase": "Pending",
    "ready": False,
    "restarts": 0,
    "status_reason": "",
    "status_message": "",
    "cpu_request_cores": 0.5,
    "memory_request_bytes": GIB,
    "gpus_requested": 0,
    "priority": 0,
    "created_time_seconds": START_SECONDS,
    "scheduled_time_seconds": None,
    "started_time_seconds": None,
    "ended_time_seconds": None,
    "deleting": False,
}

PLACEMENT = {
    "pods": 1,
    "cpu_request_cores": 0.5,
    "memory_request_bytes": GIB,
    "gpus_requested": 0,
    "unhealthy": 0,
    "restarted": 0,
}

WORKLOAD = {
    "wanted": 1,
    "ready": 1,
    "succeeded": 0,
    "failed": 0,
    "suspended": False,
    "created_time_seconds": START_SECONDS,
}


def cycle_time(cycle: int) -> float:
    """Return the cluster time of a cycle in tests: one interval after another."""
    return START_SECONDS + cycle * INTERVAL_SECONDS


def fill_rows(
    rows: Rows | int, default: Mapping[str, Any], name: str = "node"
) -> dict[str, dict[str, Any]]:
    """Complete rows with defaults.

    A number makes that many rows named `<name>-0`, `<name>-1`, ...
    """
    if isinstance(rows, int):
        rows = {f"{name}-{number}": {} for number in range(rows)}
    for row_id, row in rows.items():
        unknown = sorted(row.keys() - default.keys())
        if unknown:
            raise ValueError(f"{row_id} has no column {unknown}")
    return {row_id: {**default, **row} for row_id, row in rows.items()}


def make_snapshot(
    nodes: Rows | int = 3,
    *,
    cycle: int = 1,
    placements: Rows | None = None,
    workloads: Rows | None = None,
    pods: Rows | int = 0,
    previous: Mapping[str, FullState] | None = None,
    keyframe_every: int = 20,
) -> tuple[SnapshotNodes, SnapshotPlacements, SnapshotWorkloads]:
    """Return the three snapshot events of one cycle.

    `previous` holds full states by layer token.
    """
    before = previous or {}
    time_seconds = cycle_time(cycle)
    sources = tuple(
        SourceRead(source=name, ok=True, read_time_seconds=time_seconds)
        for name in ("nodes", "pods", "deployments", "jobs", "node_metrics")
    )
    placed = table_of(PlacementTable, fill_rows(placements or {}, PLACEMENT))
    return (
        frame_of(
            SnapshotNodes,
            {"nodes": table_of(NodeTable, fill_rows(nodes, SNAPSHOT_NODE))},
            cycle=cycle,
            previous=before.get("nodes"),
            keyframe_every=keyframe_every,
            cluster_time_seconds=time_seconds,
            simulated=True,
            sources=sources,
        ),
        frame_of(
            SnapshotPlacements,
            {"placements": placed},
            cycle=cycle,
            previous=before.get("placements"),
            keyframe_every=keyframe_every,
            cluster_time_seconds=time_seconds,
        ),
        frame_of(
            SnapshotWorkloads,
            {
                "workloads": table_of(WorkloadTable, fill_rows(workloads or {}, WORKLOAD)),
                "pods": table_of(PodTable, fill_rows(pods, SNAPSHOT_POD, "default/pod")),
            },
            cycle=cycle,
            previous=before.get("workloads"),
            keyframe_every=keyframe_every,
            cluster_time_seconds=time_seconds,
            pods_running=sum(placed.pods),
            pods_total=sum(placed.pods),
            bare_pods_succeeded=0,
        ),
    )
