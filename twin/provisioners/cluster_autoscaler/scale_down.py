"""Scale-down: which nodes nobody needs, since when, and which of them may go now.

A node is unneeded while at most half of it is asked for, nothing keeps it, and its pods fit elsewhere; one
that has been so for ten minutes may go (core/scaledown/planner, eligibility, unneeded;
simulator/cluster.go, SimulateNodeRemoval). Pods that are moved in thought stay moved, so two nodes never
count on the same room.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from twin.config.provisioning import ClusterAutoscalerConfig
from twin.part import Part
from twin.provisioners.client import Client
from twin.provisioners.cluster_autoscaler.drainability import Blocked, pods_to_move
from twin.provisioners.cluster_autoscaler.groups import Groups
from twin.provisioners.cluster_autoscaler.view import View
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
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

    def look(
        self,
        view: View,
        snapshot: ClusterSnapshot,
        leaving: AbstractSet[str],
        absent: AbstractSet[str],
    ) -> None:
        """Find the unneeded nodes; `leaving` are on their way out already, `absent` ones are not looked at
        and take no pods.
        """
        now, config = self._client.now, self._config
        self._recheck_at = {
            name: at
            for name, at in self._recheck_at.items()
            if at > now and name in view and name not in absent
        }
        found: dict[str, Removable] = {}
        limit = len(self.unneeded) + 2 * config.most_deletions
        for name, utilization in self._eligible(view, snapshot, leaving | absent):
            if len(found) >= limit:
                break
            removable = self._simulate(name, utilization, snapshot, leaving | found.keys())
            if removable is None:
                self._recheck_at[name] = now + config.recheck_seconds
                continue
            found[name] = removable
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
        self, view: View, snapshot: ClusterSnapshot, skipped: AbstractSet[str]
    ) -> list[tuple[str, float]]:
        """Return the nodes worth a simulation with their utilization: those unneeded before first,
        then empty ones.
        """
        sizes = {name: self._groups.target(name) for name in self._groups.groups}
        found = [
            (name, utilization)
            for name, utilization in view.low_in(snapshot).items()
            if name not in skipped and not self._is_kept(view.node(name), sizes)
        ]
        return sorted(found, key=lambda one: (one[0] not in self.unneeded, one[1] > 0.0, one[0]))

    def _is_kept(self, node: NodeRecord, sizes: dict[str, int]) -> bool:
        group = self._groups.group_of(node)
        return (
            group is None
            or node.name in self._recheck_at
            or sizes[group.name] <= group.least
            or node.annotations.get(SCALE_DOWN_DISABLED) == "true"
        )

    def _simulate(
        self, name: str, utilization: float, snapshot: ClusterSnapshot, going: AbstractSet[str]
    ) -> Removable | None:
        """Return the node when its pods fit elsewhere, on nodes that are not `going`; they are moved there in
        thought.
        """
        place = snapshot.places[name]
        try:
            moving = pods_to_move(
                place.pods.values(), self._budgets(place), self._config, self._client.now
            )
        except Blocked:
            return None
        if not moving:
            return Removable(place.node, (), utilization)
        mark = snapshot.mark()
        for pod in moving:
            snapshot.lift(pod, place)
        others = [
            other
            for other in snapshot.places.values()
            if not other.template and other is not place and other.name not in going
        ]
        for pod in moving:
            target = snapshot.any_fit(pod, others)
            if target is None:
                snapshot.revert(mark)
                return None
            snapshot.place(pod, target)
        return Removable(place.node, tuple(moving), utilization)

    def _budgets(self, place: NodeInfo) -> dict[str, list[ObjectRecord]]:
        return {uid: self._client.budgets(pod) for uid, pod in place.pods.items()}
