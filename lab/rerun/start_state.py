"""A start state: the nodes of a live cluster and what ran on them, as a workload.

Problem: a what-if begins from the cluster as it was, not from an empty one. Guarantee: every node
of the snapshot is there, and each of its workloads arrives at time 0 with its own requests, its
pods on the nodes where they were. What a snapshot does not hold is said in the notes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum

from schemas.snapshot import NodeTable, PlacementTable, PodTable, WorkloadTable
from twin.port.objects import CLOCK_SCALE, CPU_CAP, MEMORY_CAP, MEMORY_SCALE, POWER_STATE
from twin.port.workloads import NodeShape, WorkloadArrival

MILLI = 1000
MOST_RATIO = 100.0
SUMMED = "*"  # placements of many workloads in one row, where a snapshot had no room for more
PRESENT_CPU_RATIO, PRESENT_MEMORY_RATIO = 0.3, 0.5  # without metrics: the twin's own defaults


@dataclass(frozen=True, slots=True)
class ClusterTables:
    """The tables of one snapshot (see `schemas.snapshot`)."""

    nodes: NodeTable
    placements: PlacementTable
    workloads: WorkloadTable
    pods: PodTable


@dataclass(frozen=True, slots=True)
class StartState:
    """Nodes, what arrives on them at time 0, and what the snapshot could not say."""

    nodes: list[NodeShape]
    arrivals: list[WorkloadArrival]
    notes: list[str]


@dataclass(slots=True)
class _Held:
    """Resources of one workload: amounts of all its pods together."""

    nodes: list[str] = field(default_factory=list)
    cpu_millicores: int = 0
    memory_bytes: int = 0
    gpus: int = 0
    waiting: int = 0
    priority: int = 0

    def add(self, node: str, pods: int, cpu_cores: float, memory_bytes: int, gpus: int) -> None:
        self.nodes += [node] * pods
        self.cpu_millicores += round(cpu_cores * MILLI)
        self.memory_bytes += memory_bytes
        self.gpus += gpus


def start_state(tables: ClusterTables, *, task_seconds: float | None) -> StartState:
    """Turn a snapshot into a workload; tasks run on for `task_seconds` (None: for ever)."""
    nodes = _nodes(tables.nodes)
    ratios = _usage_ratios(tables)
    held = _held_by_workload(tables)
    wanted = {
        row_id: (tables.workloads.wanted[row], tables.workloads.suspended[row])
        for row, row_id in enumerate(tables.workloads.ids)
    }
    arrivals, unknown = [], 0
    taken: set[tuple[str, str]] = set()
    for workload in sorted({*held, *wanted}):
        replicas, suspended = wanted.get(workload, (0, False))
        found = held.get(workload)
        pods = 0 if found is None else len(found.nodes) + found.waiting
        if found is None or not pods:
            unknown += replicas > 0 and not suspended
            continue
        arrivals.append(_arrival(workload, found, max(replicas, pods), ratios, task_seconds, taken))
    return StartState(nodes, arrivals, _notes(tables, nodes, arrivals, unknown, task_seconds))


def _nodes(table: NodeTable) -> list[NodeShape]:
    return [
        NodeShape(
            name=name,
            cpu_millicores=round(table.cpu_allocatable_cores[row] * MILLI),
            memory_bytes=table.memory_allocatable_bytes[row],
            gpus=table.gpus_allocatable[row],
            labels={},
            cordoned=not table.schedulable[row],
            annotations=_actuators(table, row),
        )
        for row, name in enumerate(table.ids)
        if table.cpu_allocatable_cores[row] > 0 and table.memory_allocatable_bytes[row] > 0
    ]


def _actuators(table: NodeTable, row: int) -> dict[str, str]:
    """Settings of one node that are not as usual, as the annotations that make them."""
    scales = {
        CLOCK_SCALE: table.clock_scale_ratio[row],
        MEMORY_SCALE: table.memory_scale_ratio[row],
        CPU_CAP: table.cpu_cap_ratio[row],
        MEMORY_CAP: table.memory_cap_ratio[row],
    }
    set_to = {key: f"{ratio:g}" for key, ratio in scales.items() if ratio != 1.0}
    return set_to if table.power_state[row] == "on" else {POWER_STATE: "sleep", **set_to}


def _held_by_workload(tables: ClusterTables) -> dict[str, _Held]:
    """What each workload holds, by `<namespace>/<kind>/<name>`; summed rows by node, too."""
    held: dict[str, _Held] = defaultdict(_Held)
    table = tables.placements
    for row, row_id in enumerate(table.ids):
        node, _, workload = row_id.partition("|")
        if workload.endswith(SUMMED):
            namespace = workload.partition("/")[0]
            workload = f"{'default' if namespace == SUMMED else namespace}/Pods/others-{node}"
        held[workload].add(
            node,
            table.pods[row],
            table.cpu_request_cores[row],
            table.memory_request_bytes[row],
            table.gpus_requested[row],
        )
    for row, row_id in enumerate(tables.pods.ids):
        workload = tables.pods.workload[row] or row_id.replace("/", "/Pod/", 1)
        if workload in held or tables.pods.phase[row] == "Pending":
            held[workload].priority = tables.pods.priority[row]
        if tables.pods.phase[row] == "Pending" and not tables.pods.node[row]:
            held[workload].waiting += 1
            held[workload].cpu_millicores += round(tables.pods.cpu_request_cores[row] * MILLI)
            held[workload].memory_bytes += tables.pods.memory_request_bytes[row]
            held[workload].gpus += tables.pods.gpus_requested[row]
    return held


def _usage_ratios(tables: ClusterTables) -> dict[str, tuple[float, float]]:
    """Cpu and memory use over what is requested, by node; absent where nobody measured."""
    cpu: dict[str, list[float]] = defaultdict(list)
    memory: dict[str, int] = defaultdict(int)
    for row, row_id in enumerate(tables.placements.ids):
        node = row_id.partition("|")[0]
        cpu[node].append(tables.placements.cpu_request_cores[row])
        memory[node] += tables.placements.memory_request_bytes[row]
    ratios = {}
    for row, node in enumerate(tables.nodes.ids):
        used_cores = tables.nodes.cpu_usage_cores[row]
        used_bytes = tables.nodes.memory_usage_bytes[row]
        cores = fsum(cpu.get(node, ()))
        if used_cores is not None and used_bytes is not None and cores and memory[node]:
            ratios[node] = (used_cores / cores, used_bytes / memory[node])
    return ratios


def _arrival(
    workload: str,
    held: _Held,
    replicas: int,
    ratios: dict[str, tuple[float, float]],
    task_seconds: float | None,
    taken: set[tuple[str, str]],
) -> WorkloadArrival:
    namespace, kind, name = workload.split("/", 2)
    if (namespace, name) in taken:
        name = f"{name}-{kind.lower()}"
    taken.add((namespace, name))
    pods = len(held.nodes) + held.waiting
    task = kind == "Job"
    return WorkloadArrival(
        time_seconds=0.0,
        name=name,
        kind="task" if task else "service",
        cpu_request_millicores=held.cpu_millicores // pods,
        memory_request_bytes=held.memory_bytes // pods,
        gpus=held.gpus // pods,
        cpu_usage_ratio=_mean_ratio(held.nodes, ratios, 0, PRESENT_CPU_RATIO),
        memory_usage_ratio=_mean_ratio(held.nodes, ratios, 1, PRESENT_MEMORY_RATIO),
        duration_seconds=task_seconds if task else None,
        outcome="succeed" if task and task_seconds is not None else "run",
        replicas=replicas,
        priority=held.priority,
        labels={},
        namespace=namespace,
        start_nodes=tuple(held.nodes),
    )


def _mean_ratio(
    nodes: Sequence[str], ratios: dict[str, tuple[float, float]], which: int, absent: float
) -> float:
    known = [ratios[node][which] for node in nodes if node in ratios]
    return round(min(fsum(known) / len(known), MOST_RATIO), 4) if known else absent


def _notes(
    tables: ClusterTables,
    nodes: Sequence[NodeShape],
    arrivals: Sequence[WorkloadArrival],
    unknown: int,
    task_seconds: float | None,
) -> list[str]:
    out = sum(not ready for ready in tables.nodes.ready)
    summed = sum(row_id.endswith(SUMMED) for row_id in tables.placements.ids)
    placed = sum(len(arrival.start_nodes) for arrival in arrivals)
    waiting = sum(arrival.replicas for arrival in arrivals) - placed
    tasks = "run on for ever" if task_seconds is None else f"run {task_seconds:g} s from the start"
    notes = [
        f"{len(nodes)} nodes, {len(arrivals)} workloads: {placed} pods on nodes, {waiting} waiting",
        f"usage of a workload: mean use over request of its nodes; tasks {tasks}",
        "not in a snapshot: labels and taints of nodes, selectors, limits, images",
    ]
    if out:
        notes.append(f"{out} nodes were not ready; here they are")
    if unknown:
        notes.append(f"{unknown} workloads left out: no pod of theirs shows what they request")
    if summed:
        notes.append(f"{summed} rows stand for several workloads; their pods are given equal sizes")
    return notes
