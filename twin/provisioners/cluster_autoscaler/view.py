"""What Cluster Autoscaler knows of the nodes at a scan, kept from one scan to the next.

A scan of a thousand nodes comes every ten seconds and mostly finds what the last one found; so facts about a node are
worked out again only when something about it was heard. All of it is a cache.
"""

from __future__ import annotations

from twin.changes import Change
from twin.config.provisioning import ClusterAutoscalerConfig
from twin.provisioners.client import Client, waits_for_room
from twin.provisioners.cluster_autoscaler.groups import GROUP_LABEL, Readiness
from twin.provisioners.cluster_autoscaler.taints import (
    DELETION_CANDIDATE,
    TO_BE_DELETED,
    has_taint,
)
from twin.provisioners.node_info_table import NodeInfoTable
from twin.provisioners.placement import ClusterSnapshot, NodeInfo
from twin.records import NodeRecord, PodRecord


class View:
    """Nodes, their pods and the waiting pods, as of the last `refresh`."""

    def __init__(self, config: ClusterAutoscalerConfig, client: Client) -> None:
        self._config = config
        self._client = client
        cutoff = config.priority_cutoff
        self._table = NodeInfoTable(
            client, lambda pod: not pod.terminal and pod.shape.priority >= cutoff
        )
        self._waiting: dict[str, None] | None = None  # uids, once somebody has asked
        self.group_of: dict[str, str] = {}
        """Label of its group, by node."""
        self.members: dict[str, int] = {}
        """Nodes by that label."""
        self.unready: dict[str, NodeRecord] = {}
        """Nodes of any group that are not Ready."""
        self.low: dict[str, float] = {}
        """Utilization of the nodes of any group at or below the threshold."""
        self.leaving: dict[str, None] = {}
        """Nodes that carry the taint of a node on its way out."""
        self.soft: dict[str, None] = {}
        """Nodes that carry the taint of an unneeded one."""

    # ---- keeping up

    def follow(self, change: Change) -> None:
        """Take in a change of a pod or node."""
        self._table.follow(change)
        record = change.record
        if self._waiting is not None and isinstance(record, PodRecord):
            if change.type != "DELETED" and waits_for_room(record):
                self._waiting[record.uid] = None
            else:
                self._waiting.pop(record.uid, None)

    def forget(self) -> None:
        """Know nothing, as when the world has become another."""
        self._table.forget()
        self._waiting = None

    def refresh(self) -> None:
        """Bring everything up to date."""
        changed = self._table.refresh()
        if changed is None:
            for facts in (
                self.group_of, self.members, self.unready, self.low, self.leaving, self.soft
            ):  # fmt: skip
                facts.clear()
            changed = list(self._table.places)
        for name in changed:
            self._drop(name)
            place = self._table.places.get(name)
            if place is not None:
                self._enter(name, place)

    def _drop(self, name: str) -> None:
        group = self.group_of.pop(name, None)
        if group is not None:
            self.members[group] -= 1
        for facts in (self.unready, self.low, self.leaving, self.soft):
            facts.pop(name, None)

    def _enter(self, name: str, place: NodeInfo) -> None:
        node = place.node
        if has_taint(node, TO_BE_DELETED):
            self.leaving[name] = None
        if has_taint(node, DELETION_CANDIDATE):
            self.soft[name] = None
        group = node.labels.get(GROUP_LABEL)
        if group is None:
            return
        self.group_of[name] = group
        self.members[group] = self.members.get(group, 0) + 1
        if node.ready_status != "True":
            self.unready[name] = node
        utilization = utilization_of(place)
        if utilization <= self._config.utilization_threshold:
            self.low[name] = utilization

    # ---- what a scan asks

    def __len__(self) -> int:
        return len(self._table.places)

    def __contains__(self, name: str) -> bool:
        return name in self._table.places

    def names(self) -> list[str]:
        """Return the nodes in order of their names."""
        return list(self._table.places)

    def node(self, name: str) -> NodeRecord:
        """Return a node; raises KeyError for an unknown one."""
        return self._table.places[name].node

    def snapshot(self) -> ClusterSnapshot:
        """Return a snapshot to think in; `spoil` has to be told when the scan is over."""
        return ClusterSnapshot(self._table.places)

    def spoil(self, snapshot: ClusterSnapshot) -> None:
        """Let what was changed in thought be worked out again."""
        self._table.spoil(snapshot.touched)

    def low_in(self, snapshot: ClusterSnapshot) -> dict[str, float]:
        """Return `low` as it is with the pods that a snapshot has put on nodes in thought."""
        found = dict(self.low)
        for name in snapshot.touched:
            if name in self.group_of and name in snapshot.places:
                found[name] = utilization_of(snapshot.places[name])
                if found[name] > self._config.utilization_threshold:
                    del found[name]
        return found

    def waiting(self) -> list[PodRecord]:
        """Return the pods that found no node, in order of creation."""
        if self._waiting is None:
            self._waiting = {pod.uid: None for pod in self._client.pods() if waits_for_room(pod)}
        if not self._waiting:
            return []
        return [pod for pod in self._client.pods() if waits_for_room(pod)]

    def readiness(self, name: str) -> Readiness:
        """Sort the nodes of a group."""
        starting, unready = [], 0
        for node_name, node in sorted(self.unready.items()):
            if self.group_of[node_name] != name:
                continue
            if node.created_at + self._config.startup_seconds > self._client.now:
                starting.append(node_name)
            else:
                unready += 1
        ready = self.members.get(name, 0) - len(starting) - unready
        return Readiness(ready, tuple(starting), unready)


def utilization_of(place: NodeInfo) -> float:
    """Return the larger part of cores and memory that pods ask for; of GPUs on a node with GPUs."""
    node = place.node
    if node.gpus:
        return (node.gpus - place.free[2]) / node.gpus
    cpu = node.allocatable_cpu_millicores
    memory = node.allocatable_memory_bytes
    if not cpu or not memory:
        return 1.0
    return max((cpu - place.free[0]) / cpu, (memory - place.free[1]) / memory)
