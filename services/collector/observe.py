"""From snapshot tables to the observation: ratios, classes, totals and the provenance of each.

Formulas are the baseline's (requests over allocatable, queue, SLA violations, urgency), with its faults
mended: finished pods hold nothing, a missing source gives no rows instead of zeros, and pods of
Kubernetes' own namespaces are judged only when asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from schemas.numbers import rounded
from schemas.observation import ClusterTotals, ObservedNodes, ObservedPods, ObservedServices
from schemas.signals import Signal, SignalStatus
from schemas.tables import table_of
from schemas.work import WorkCounters
from services.collector.observed_services import observed_services
from services.collector.pending import pending_class
from services.collector.power import node_watts
from services.collector.provenance import (
    NodeUsage,
    api_signal,
    energy_price,
    nodes_of_unknown_size,
    power_signal,
    request_signals,
    usage_signal,
)
from services.collector.settings import CollectorSettings, PowerModel
from services.collector.snapshot import Snapshot
from services.protection import OWN_NAMESPACES


@dataclass(frozen=True, slots=True)
class Interpretation:
    """Content of an observation, before it is framed."""

    nodes: ObservedNodes
    pods: ObservedPods
    totals: ClusterTotals
    signals: tuple[Signal, ...]
    work: WorkCounters | None
    services: ObservedServices | None = None


def interpret_snapshot(snapshot: Snapshot, settings: CollectorSettings) -> Interpretation:
    """Interpret one snapshot."""
    unknown = nodes_of_unknown_size(snapshot)
    requests = api_signal(snapshot, "node_requests", ("nodes", "pods"), settings, unknown)
    usage = usage_signal(snapshot, settings, unknown)
    power = power_signal(snapshot, settings, requests, usage)
    price, price_of = energy_price(snapshot, settings)
    nodes = (
        _observed_nodes(snapshot, settings, usage, power.watts)
        if snapshot.has("nodes", "pods")
        else ObservedNodes()
    )
    pods = _observed_pods(snapshot, settings)
    signals = (
        requests,
        api_signal(snapshot, "pods", ("pods",), settings),
        api_signal(snapshot, "workloads", ("deployments", "jobs"), settings),
        usage.signal,
        power.signal,
        price_of,
        *request_signals(snapshot, settings),
    )
    totals = _totals(snapshot, nodes, pods, settings, price)
    services = observed_services(snapshot)
    return Interpretation(nodes, pods, totals, signals, snapshot.work, services)


@lru_cache(maxsize=4_096)  # asked for every workload of every node in every cycle
def is_watched(namespace: str, prefixes: tuple[str, ...]) -> bool:
    """Say whether a namespace counts for queue, SLA and health."""
    if not prefixes:
        return namespace not in OWN_NAMESPACES
    return namespace.startswith(prefixes)


@dataclass(slots=True)
class _NodeLoad:
    """Sums over the pods on one node."""

    pods: int = 0
    cpu_micro_cores: int = 0
    memory_bytes: int = 0
    unhealthy: int = 0
    restarted: int = 0


def _node_loads(snapshot: Snapshot, settings: CollectorSettings) -> dict[str, _NodeLoad]:
    loads: dict[str, _NodeLoad] = {}
    table = snapshot.placements
    for row_id, pods, cores, memory, unhealthy, restarted in zip(
        table.ids,
        table.pods,
        table.cpu_request_cores,
        table.memory_request_bytes,
        table.unhealthy,
        table.restarted,
        strict=True,
    ):
        node = row_id.partition("|")[0]
        load = loads.get(node)
        if load is None:
            load = loads[node] = _NodeLoad()
        load.pods += pods
        load.cpu_micro_cores += round(cores * 1_000_000)
        load.memory_bytes += memory
        if (unhealthy or restarted) and _is_watched_row(row_id, settings.namespaces):
            load.unhealthy += unhealthy
            load.restarted += restarted
    return loads


def _is_watched_row(row_id: str, prefixes: tuple[str, ...]) -> bool:
    """Say whether the workload of a placement row counts."""
    return is_watched(row_id.partition("|")[2].partition("/")[0], prefixes)


def _observed_nodes(
    snapshot: Snapshot,
    settings: CollectorSettings,
    usage: NodeUsage,
    watts: Mapping[str, float],
) -> ObservedNodes:
    loads = _node_loads(snapshot, settings)
    no_load = _NodeLoad()
    measured = usage.signal.status is SignalStatus.FRESH
    cells_of = _cell_calculator(settings.power)
    table = snapshot.nodes
    on_nodes = [loads.get(name, no_load) for name in table.ids]
    cells = [
        cells_of(
            cores,
            memory,
            load.cpu_micro_cores,
            load.memory_bytes,
            cpu_used if name in usage.usable else None,
            memory_used if name in usage.usable else None,
            power_state,
            clock,
            measured,
        )
        for name, load, cores, memory, cpu_used, memory_used, power_state, clock in zip(
            table.ids,
            on_nodes,
            table.cpu_allocatable_cores,
            table.memory_allocatable_bytes,
            table.cpu_usage_cores,
            table.memory_usage_bytes,
            table.power_state,
            table.clock_scale_ratio,
            strict=True,
        )
    ]
    # Each number here is a snapshot's own, measured or not, a count, or was rounded by `_cell_calculator`.
    return ObservedNodes.model_construct(
        None,
        ids=table.ids,
        ready=table.ready,
        schedulable=table.schedulable,
        power_state=table.power_state,
        cpu_allocatable_cores=table.cpu_allocatable_cores,
        memory_allocatable_bytes=table.memory_allocatable_bytes,
        cpu_requested_ratio=tuple([cell.cpu_requested_ratio for cell in cells]),
        memory_requested_ratio=tuple([cell.memory_requested_ratio for cell in cells]),
        cpu_used_ratio=tuple([cell.cpu_used_ratio for cell in cells]),
        memory_used_ratio=tuple([cell.memory_used_ratio for cell in cells]),
        pods=tuple([load.pods for load in on_nodes]),
        unhealthy_pods=tuple([load.unhealthy for load in on_nodes]),
        restarted_pods=tuple([load.restarted for load in on_nodes]),
        power_watts=tuple(
            [watts.get(name, cell.power_watts) for name, cell in zip(table.ids, cells, strict=True)]
        ),
        clock_scale_ratio=table.clock_scale_ratio,
        memory_scale_ratio=table.memory_scale_ratio,
        cpu_cap_ratio=table.cpu_cap_ratio,
        memory_cap_ratio=table.memory_cap_ratio,
    )


class _NodeCells(NamedTuple):
    """Computed values of one node, as it travels."""

    cpu_requested_ratio: float | None
    memory_requested_ratio: float | None
    cpu_used_ratio: float | None
    memory_used_ratio: float | None
    power_watts: float


@lru_cache(maxsize=8)
def _cell_calculator(power: PowerModel) -> Callable[..., _NodeCells]:
    """Return what computes one node's cells; most nodes are as they were a cycle ago."""

    @lru_cache(maxsize=16_384)
    def cells_of(
        cores: float,
        memory: int,
        cpu_micro_cores: int,
        memory_requested_bytes: int,
        cpu_used_cores: float | None,
        memory_used_bytes: int | None,
        power_state: str,
        clock_scale_ratio: float,
        measured: bool,
    ) -> _NodeCells:
        cpu_requested = _share(cpu_micro_cores / 1_000_000, cores, most=1.0)
        memory_requested = _share(memory_requested_bytes, memory, most=1.0)
        cpu_used, memory_used = _share(cpu_used_cores, cores), _share(memory_used_bytes, memory)
        known = measured and cpu_used is not None and memory_used is not None
        cpu, of_memory = (cpu_used, memory_used) if known else (cpu_requested, memory_requested)
        watts = node_watts(
            power,
            power_state=power_state,
            cpu_ratio=cpu or 0.0,
            memory_ratio=of_memory or 0.0,
            clock_scale_ratio=clock_scale_ratio,
        )
        return _NodeCells(
            _checked_ratio(cpu_requested),
            _checked_ratio(memory_requested),
            _checked_ratio(cpu_used),
            _checked_ratio(memory_used),
            rounded(watts),
        )

    return cells_of


def _checked_ratio(value: float | None) -> float | None:
    """Return a ratio as it travels; None where it is not known.

    Raises:
        ValueError: it is negative or not finite.
    """
    if value is None:
        return None
    if value < 0:
        raise ValueError(f"a share cannot be {value}")
    return rounded(value)


def _share(amount: float | None, allocatable: float, *, most: float = math.inf) -> float | None:
    """Return a share of what a node offers; None where it offers nothing, or either is not known."""
    if amount is None or allocatable <= 0:
        return None
    return min(most, amount / allocatable)


def _observed_pods(snapshot: Snapshot, settings: CollectorSettings) -> ObservedPods:
    rows: dict[str, dict[str, Any]] = {}
    for number, row_id in enumerate(snapshot.pods.ids):
        if not is_watched(row_id.partition("/")[0], settings.namespaces):
            continue
        pod = snapshot.pods.row(number)
        pending = pod["phase"] == "Pending"
        waited = snapshot.cluster_time_seconds - pod["created_time_seconds"]
        rows[row_id] = {
            "node": pod["node"],
            "workload": pod["workload"],
            "phase": pod["phase"],
            "pending_class": _pod_class(pod) if pending else None,
            "urgency_ratio": _urgency(pod),
            "restarts": pod["restarts"],
            "alive": pod["phase"] != "Failed",
            "waiting_seconds": max(0.0, waited) if pending else None,
        }
    return table_of(ObservedPods, rows)


def _pod_class(pod: dict[str, Any]) -> str:
    return pending_class(
        bound=bool(pod["node"]), reason=pod["status_reason"], message=pod["status_message"]
    ).value


def _urgency(pod: dict[str, Any]) -> float:
    if pod["phase"] == "Succeeded":
        return 0.0
    calm = pod["phase"] == "Running" and pod["ready"] and not pod["restarts"]
    return 0.2 if calm else 1.0


def _totals(
    snapshot: Snapshot,
    nodes: ObservedNodes,
    pods: ObservedPods,
    settings: CollectorSettings,
    price: float,
) -> ClusterTotals:
    table = snapshot.nodes
    waiting = [kind for kind in pods.pending_class if kind is not None]
    unlisted = sum(
        count
        for namespace, count in snapshot.waiting_omitted.items()
        if is_watched(namespace, settings.namespaces)
    )
    return ClusterTotals(
        nodes=len(table),
        nodes_ready=sum(table.ready),
        nodes_schedulable=sum(
            ready and open_ for ready, open_ in zip(table.ready, table.schedulable, strict=True)
        ),
        pods_running=snapshot.pods_running,
        pods_total=snapshot.pods_total,
        queue_length=len(waiting) + unlisted,
        sla_violations=_sla_violations(snapshot, settings) + unlisted,
        completed_tasks=snapshot.bare_pods_succeeded + sum(snapshot.workloads.succeeded),
        pending_by_class=dict(sorted(Counter(waiting).items())),
        cpu_requested_ratio=_mean_ratio(nodes.cpu_requested_ratio),
        memory_requested_ratio=_mean_ratio(nodes.memory_requested_ratio),
        energy_watts=math.fsum(nodes.power_watts),
        energy_price=price,
    )


def _sla_violations(snapshot: Snapshot, settings: CollectorSettings) -> int:
    """Count unhealthy pods: on nodes from the placements, unbound ones from the pod table."""
    placements, pods = snapshot.placements, snapshot.pods
    bound = sum(
        count
        for row_id, count in zip(placements.ids, placements.unhealthy, strict=True)
        if count and _is_watched_row(row_id, settings.namespaces)
    )
    unbound = sum(
        not node and phase != "Succeeded"
        for row_id, node, phase in zip(pods.ids, pods.node, pods.phase, strict=True)
        if is_watched(row_id.partition("/")[0], settings.namespaces)
    )
    return bound + unbound


def _mean_ratio(ratios: tuple[float | None, ...]) -> float:
    known = [ratio for ratio in ratios if ratio is not None]
    return math.fsum(known) / len(known) if known else 0.0
