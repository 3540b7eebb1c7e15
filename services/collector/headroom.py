"""Pods that wait although the cluster has room for them, in pieces that are too small: where they nearly fit.

A scheduler that spreads pods leaves a little on every node, so that a large pod fits on none. Where a few others moved,
it would have a place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from inputs.quantities import parse_cores, parse_whole
from schemas.occupancy import WaitingPod
from services.collector.pending import pending_class
from services.kept_results import kept
from services.kube_objects import CPU, MEMORY, Node, Pod, parse_time
from services.node_selection import asks_for_nodes, has_other_rules
from services.pod_requests import EffectiveRequest, effective_request

MOVED_PODS = 4
"""Pods that one migration moves that names them, as `executor.named_pods_per_migration`."""
MOST_SIZES = 3
"""Sizes of pods that are looked for a place for, the longest-waiting first."""
MOST_NODES = 6
"""Nodes listed for each of them: those that lack least."""
STAYING = ("/DaemonSet/", "/Job/")
"""Whose pods are not moved for another's sake: they come back at once, or do their work again."""
ROUNDING = 1e-9
"""Cores that sums of requests may lack by their rounding alone."""


@dataclass(slots=True)
class _NodeHeadroom:
    """Free capacity of a node, and what those of its pods hold that a controller would make again elsewhere."""

    cores: float
    memory_bytes: int
    movable: list[EffectiveRequest] = field(default_factory=list)

    def take(self, pod: Pod) -> None:
        amounts = effective_request(pod)
        self.cores -= amounts.cpu_cores
        self.memory_bytes -= amounts.memory_bytes
        if pod.workload() and not any(kind in pod.workload() for kind in STAYING):
            self.movable.append(amounts)

    def most_moved(self) -> tuple[float, int]:
        """Return the most cores and bytes that one migration frees."""
        cores = sorted((one.cpu_cores for one in self.movable), reverse=True)
        sizes = sorted((one.memory_bytes for one in self.movable), reverse=True)
        return math.fsum(cores[:MOVED_PODS]), int(math.fsum(sizes[:MOVED_PODS]))


def nearly_fitting(
    nodes: Mapping[str, Node], pods: Sequence[Pod]
) -> dict[WaitingPod, tuple[str, ...]]:
    """Return the pods that wait for capacity and the nodes where they would fit if a few others moved.

    Args:
        nodes: by name, those that pods can go to.
        pods: all of the cluster.

    Raises:
        ValueError: a quantity or time stamp cannot be read.
    """
    waiting = _longest_waiting(pods)
    if not waiting:
        return {}
    rooms = _rooms(nodes, pods)
    found = {pod: _nearly(pod, rooms) for pod in waiting}
    return {pod: names for pod, names in found.items() if names}


def _longest_waiting(pods: Sequence[Pod]) -> list[WaitingPod]:
    """Return the longest-waiting pod of each of the first few sizes."""
    by_age = sorted(
        (waiting for pod in pods if (waiting := _waiting(pod)) is not None),
        key=lambda one: (one.created_time_seconds, one.pod),
    )
    sizes: dict[tuple[float, int], WaitingPod] = {}
    for one in by_age:
        sizes.setdefault((one.cpu_request_cores, one.memory_request_bytes), one)
    return list(sizes.values())[:MOST_SIZES]


@kept
def _waiting(pod: Pod) -> WaitingPod | None:
    """Return a pod that lacks cores or memory alone; None where it does not, or asks for more than that."""
    scheduled = pod.condition("PodScheduled")
    if pod.spec.node_name or scheduled is None or scheduled.status == "True":
        return None
    lacking = pending_class(bound=False, reason=scheduled.reason, message=scheduled.message)
    amounts = effective_request(pod)
    special = asks_for_nodes(pod.spec) or has_other_rules(pod.spec) or amounts.gpus
    if special or lacking.value not in {"insufficient_cpu", "insufficient_memory"}:
        return None
    return WaitingPod(
        pod=pod.key,
        workload=pod.workload(),
        cpu_request_cores=amounts.cpu_cores,
        memory_request_bytes=amounts.memory_bytes,
        created_time_seconds=parse_time(pod.metadata.creation_timestamp or ""),
    )


def _rooms(nodes: Mapping[str, Node], pods: Sequence[Pod]) -> dict[str, _NodeHeadroom]:
    rooms = {
        name: _NodeHeadroom(
            parse_cores(node.status.allocatable.get(CPU, "0")),
            parse_whole(node.status.allocatable.get(MEMORY, "0")),
        )
        for name, node in nodes.items()
        if node.status.allocatable.get(CPU) and node.status.allocatable.get(MEMORY)
    }
    for pod in pods:
        if pod.spec.node_name in rooms and not pod.finished:
            rooms[pod.spec.node_name].take(pod)
    return rooms


def _nearly(waiting: WaitingPod, rooms: Mapping[str, _NodeHeadroom]) -> tuple[str, ...]:
    """Return the nodes on which a pod would fit if a few moved; none where it fits on one as it is."""
    ranked: list[tuple[float, str]] = []
    for name, room in rooms.items():
        lacking_cores = waiting.cpu_request_cores - room.cores
        lacking_bytes = waiting.memory_request_bytes - room.memory_bytes
        if lacking_cores <= ROUNDING and lacking_bytes <= 0:
            return ()
        cores, size = room.most_moved()
        if cores >= lacking_cores - ROUNDING and size >= lacking_bytes:
            ranked.append((lacking_cores, name))
    return tuple(name for _, name in sorted(ranked)[:MOST_NODES])
