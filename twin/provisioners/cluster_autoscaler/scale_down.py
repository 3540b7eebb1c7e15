"""Scale-down: which nodes nobody needs, since when, and which of them may go now.

A node is unneeded while at most half of it is asked for, nothing keeps it, and its pods fit elsewhere; one
that has been so for ten minutes may go (core/scaledown/planner, eligibility, unneeded;
simulator/cluster.go, SimulateNodeRemoval). Pods that are moved in thought stay moved, so two nodes never
count on the same room.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from twin.config.provisioning import ClusterAutoscalerConfig, NodeGroup
from twin.part import Part
from twin.provisioners.client import Client
from twin.provisioners.cluster_autoscaler.drainability import Blocked, pods_to_move
from twin.provisioners.cluster_autoscaler.groups import Groups
from twin.provisioners.placement import Place, Snapshot
from twin.records import NodeRecord, ObjectRecord, PodRecord

SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"


@dataclass(frozen=True, slots=True)
class Removable:
    """A node that can go, and the pods that would have to move."""

    node: NodeRecord
    moving: tuple[PodRecord, ...]
    utilization: float


class ScaleDown(Part):
    """Keeps since when nodes are unneeded."""

    KEEPS = ("unneeded", "_recheck_at")
    LEAVES = ("found",)  # of the last look; used within the same scan

    def __init__(self, config: ClusterAutoscalerConfig, client: Client, groups: Groups) -> None:
        self._config = config
        self._client = client
        self._groups = groups
        self.unneeded: dict[str, float] = {}  # by node: since when
        self._recheck_at: dict[str, float] = {}  # nodes that were found to be needed
        self.found: dict[str, Removable] = {}

    def look(self, nodes: Sequence[NodeRecord], snapshot: Snapshot, leaving: Iterable[str]) -> None:
        """Find the unneeded nodes; `leaving` are on their way out already."""
        now, config = self._client.now, self._config
        names = {node.name for node in nodes}
        self._recheck_at = {
            name: at for name, at in self._recheck_at.items() if at > now and name in names
        }
        destinations = {node.name: None for node in nodes if node.name not in set(leaving)}
        found: dict[str, Removable] = {}
        limit = len(self.unneeded) + 2 * config.most_deletions
        for node, utilization in self._eligible(nodes, snapshot, set(leaving)):
            if len(found) >= limit:
                break
            removable = self._simulate(node, utilization, snapshot, destinations)
            if removable is None:
                self._recheck_at[node.name] = now + config.recheck_seconds
                continue
            del destinations[node.name]
            found[node.name] = removable
        self.found = found
        self.unneeded = {name: self.unneeded.get(name, now) for name in found}

    def removable(self, in_progress: dict[str, int]) -> tuple[list[Removable], list[Removable]]:
        """Return the (empty, occupied) nodes that may go now; `in_progress` counts nodes of each
        group that are going.
        """
        sizes = {
            name: self._groups.target(name) - in_progress.get(name, 0)
            for name in self._groups.groups
        }
        ready: list[Removable] = []
        for name, entry in self.found.items():
            wait = self._wait_seconds(entry.node)
            if self.unneeded[name] + wait >= self._client.now:
                continue
            ready.append(entry)
        empty: list[Removable] = []
        occupied: list[Removable] = []
        for entry in sorted(ready, key=lambda one: bool(one.moving)):
            group = self._groups.group_of(entry.node)
            if group is None or sizes[group.name] <= group.least:
                continue
            sizes[group.name] -= 1
            (occupied if entry.moving else empty).append(entry)
        return empty, occupied

    def forget(self) -> None:
        """Forget all unneeded nodes, as when the cluster is unhealthy."""
        self.unneeded, self.found = {}, {}

    def _wait_seconds(self, node: NodeRecord) -> float:
        config = self._config
        return config.unneeded_seconds if node.ready_status == "True" else config.unready_seconds

    def _eligible(
        self, nodes: Sequence[NodeRecord], snapshot: Snapshot, leaving: set[str]
    ) -> list[tuple[NodeRecord, float]]:
        """Return the nodes worth a simulation with their utilization: those unneeded before first,
        then empty ones.
        """
        sizes = {name: self._groups.target(name) for name in self._groups.groups}
        found = []
        for node in nodes:
            group = self._groups.group_of(node)
            place = snapshot.places.get(node.name)
            if group is None or place is None or node.name in leaving:
                continue
            if self._is_kept(node, group, sizes):
                continue
            utilization = utilization_of(place)
            if utilization <= self._config.utilization_threshold:
                found.append((node, utilization))
        return sorted(
            found, key=lambda one: (one[0].name not in self.unneeded, one[1] > 0.0, one[0].name)
        )

    def _is_kept(self, node: NodeRecord, group: NodeGroup, sizes: dict[str, int]) -> bool:
        return (
            sizes[group.name] <= group.least
            or node.annotations.get(SCALE_DOWN_DISABLED) == "true"
            or node.name in self._recheck_at
        )

    def _simulate(
        self,
        node: NodeRecord,
        utilization: float,
        snapshot: Snapshot,
        destinations: dict[str, None],
    ) -> Removable | None:
        """Return the node when its pods fit elsewhere; they are moved there in thought."""
        place = snapshot.places[node.name]
        try:
            moving = pods_to_move(
                place.pods.values(), self._budgets(place), self._config, self._client.now
            )
        except Blocked:
            return None
        mark = snapshot.mark()
        for pod in moving:
            snapshot.lift(pod, place)
        others = [
            snapshot.places[name]
            for name in destinations
            if name != node.name and name in snapshot.places
        ]
        for pod in moving:
            target = snapshot.any_fit(pod, others)
            if target is None:
                snapshot.revert(mark)
                return None
            snapshot.place(pod, target)
        return Removable(node, tuple(moving), utilization)

    def _budgets(self, place: Place) -> dict[str, list[ObjectRecord]]:
        return {uid: self._client.budgets(pod) for uid, pod in place.pods.items()}


def utilization_of(place: Place) -> float:
    """Return the larger part of cores and memory that pods ask for; of GPUs on a node with GPUs."""
    node = place.node
    if node.gpus:
        return (node.gpus - place.free[2]) / node.gpus
    cpu = node.allocatable_cpu_millicores
    memory = node.allocatable_memory_bytes
    if not cpu or not memory:
        return 1.0
    return max((cpu - place.free[0]) / cpu, (memory - place.free[1]) / memory)
