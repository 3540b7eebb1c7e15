"""What one look at one cluster says, as numbers: the eleven of the difference table, and those of the scorecards."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from schemas.observation import ClusterTotals
from schemas.snapshot import NodeTable, PlacementTable, PodTable, WorkloadsState, WorkloadTable

ROWS: Mapping[str, str] = {
    "workers_ready": "",
    "workers_schedulable": "",
    "pods_running": "",
    "pods_pending": "",
    "restarts": "",
    "cpu_used": "m",
    "memory_used": "Mi",
    "cpu_requested": "m",
    "memory_requested": "Mi",
    "cpu_requested_ratio": "ratio",
    "memory_requested_ratio": "ratio",
}
"""The rows of the difference table with their units: the whole cluster's pods, workers alone."""
MEBIBYTE = 1 << 20
CPU_WEIGHT, MEMORY_WEIGHT = 0.55, 0.35
"""Of the baseline's pressure of a node."""

Figures = Mapping[str, float]
"""By name; NaN where the look did not show it."""


@dataclass(frozen=True, slots=True)
class CycleTables:
    """One cycle of one cluster's log, with full tables."""

    nodes: NodeTable
    placements: PlacementTable
    workloads: WorkloadTable
    pods: PodTable
    state: WorkloadsState
    """What the snapshot of workloads says beside its tables."""
    totals: ClusterTotals
    missing: Collection[str] = ()
    """Sources that did not answer."""


def figures_of(
    look: CycleTables, control_plane: Collection[str], namespace: str
) -> dict[str, float]:
    """Return every figure of a look.

    Args:
        look: the look.
        control_plane: nodes that are no workers.
        namespace: where the stimulus is.
    """
    workers = [number for number, name in enumerate(look.nodes.ids) if name not in control_plane]
    figures = {
        **_worker_figures(look, workers),
        **_pod_figures(look, namespace),
        **_work_figures(look.state),
        "watts": look.totals.energy_watts,
    }
    if "nodes" in look.missing:
        figures |= dict.fromkeys(
            ("workers_ready", "workers_schedulable", "cpu_requested_ratio", "memory_requested_ratio", "watts"),
            math.nan,
        )  # fmt: skip
    if "pods" in look.missing:
        figures |= dict.fromkeys(
            ("pods_running", "pods_pending", "restarts", "unhealthy", "cpu_requested", "memory_requested",
             "cpu_requested_ratio", "memory_requested_ratio", "highest_pressure", "stimulus_pending"),
            math.nan,
        )  # fmt: skip
    if "deployments" in look.missing:
        names = ("stimulus_wanted", "stimulus_ready", "replicas_elsewhere")
        figures |= dict.fromkeys(names, math.nan)
    return figures


def _worker_figures(look: CycleTables, workers: Collection[int]) -> dict[str, float]:
    nodes = look.nodes
    ready = [number for number in workers if nodes.ready[number]]
    names = {nodes.ids[number] for number in workers}
    cpu, memory = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for number, row_id in enumerate(look.placements.ids):
        name = row_id.partition("|")[0]
        if name in names:
            cpu[name] += look.placements.cpu_request_cores[number]
            memory[name] += look.placements.memory_request_bytes[number]
    cores = math.fsum(nodes.cpu_allocatable_cores[number] for number in ready)
    room = math.fsum(nodes.memory_allocatable_bytes[number] for number in ready)
    pressures = [
        CPU_WEIGHT * _share(cpu[nodes.ids[number]], nodes.cpu_allocatable_cores[number])
        + MEMORY_WEIGHT * _share(memory[nodes.ids[number]], nodes.memory_allocatable_bytes[number])
        for number in ready
    ]
    return {
        "workers_ready": float(len(ready)),
        "workers_schedulable": float(sum(nodes.schedulable[number] for number in ready)),
        "cpu_used": 1_000.0 * _known_sum([nodes.cpu_usage_cores[number] for number in ready]),
        "memory_used": _known_sum([nodes.memory_usage_bytes[number] for number in ready])
        / MEBIBYTE,
        "cpu_requested": 1_000.0 * math.fsum(cpu.values()),
        "memory_requested": math.fsum(memory.values()) / MEBIBYTE,
        "cpu_requested_ratio": _share(math.fsum(cpu.values()), cores),
        "memory_requested_ratio": _share(math.fsum(memory.values()), room),
        "highest_pressure": max(pressures, default=math.nan),
    }


def _pod_figures(look: CycleTables, namespace: str) -> dict[str, float]:
    pods, state, workloads = look.pods, look.state, look.workloads
    pending = [
        pod_id.partition("/")[0]
        for pod_id, phase in zip(pods.ids, pods.phase, strict=True)
        if phase == "Pending"
    ]
    wanted = ready = elsewhere = 0
    for row_id, replicas, number in zip(
        workloads.ids, workloads.wanted, workloads.ready, strict=True
    ):
        where, kind, _ = row_id.split("/", 2)
        if kind == "Deployment" and where == namespace:
            wanted, ready = wanted + replicas, ready + number
        elif kind == "Deployment":
            elsewhere += replicas
    return {
        "pods_running": float(state.pods_running),
        "pods_pending": float(len(pending) + sum(state.waiting_omitted.values())),
        "restarts": float(sum(pods.restarts)),
        "unhealthy": float(sum(look.placements.unhealthy)),
        "stimulus_wanted": float(wanted),
        "stimulus_ready": float(ready),
        "stimulus_pending": float(
            pending.count(namespace) + state.waiting_omitted.get(namespace, 0)
        ),
        "replicas_elsewhere": float(elsewhere),
    }


def _work_figures(state: WorkloadsState) -> dict[str, float]:
    """Return counters that never fall; NaN for those that this cluster does not have."""
    work = state.work
    if work is None:
        return {}
    services = work.services
    figures = {"restarts_ever": float(work.restarts), "evictions_ever": float(work.evictions)}
    for name in ("served", "failed", "lost"):
        figures[f"requests_{name}_ever"] = (
            math.nan
            if services is None
            else math.fsum(getattr(service, name) for service in services)
        )
    return figures


def _share(amount: float, whole: float) -> float:
    return amount / whole if whole else math.nan


def _known_sum(values: Collection[float | int | None]) -> float:
    """Return the sum; NaN as soon as one is not known, so that a part is never taken for the whole."""
    known = [float(value) for value in values if value is not None]
    return math.fsum(known) if known and len(known) == len(values) else math.nan
