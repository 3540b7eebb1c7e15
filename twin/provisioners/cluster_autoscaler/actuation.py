"""Removing nodes: taint and cordon, five seconds, drain, and the machine is given back.

A node that was empty and is not any more, or whose pods cannot be evicted in time, is taken back into
service (core/scaledown/actuation/actuator.go, drain.go, delete_in_batch.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from twin.config.provisioning import ClusterAutoscalerConfig
from twin.machines.cloud import Cloud
from twin.part import Part, keepable
from twin.provisioners.client import Client, is_daemon
from twin.provisioners.cluster_autoscaler.drainability import Blocked, pods_to_move
from twin.provisioners.cluster_autoscaler.scale_down import Removable
from twin.provisioners.cluster_autoscaler.taints import (
    DELETION_CANDIDATE,
    TO_BE_DELETED,
    has_taint,
    without_taint,
)
from twin.records import NodeRecord, PodRecord
from twin.world import World

_RETRY_SECONDS = 10.0  # drain.go DefaultEvictionRetryTime
_LOOK_SECONDS = 5.0  # drain.go waitPodsToDisappear
_HEADROOM_SECONDS = 30.0  # drain.go DefaultPodEvictionHeadroom
Announce = Callable[[str, str], None]
"""(reason, message): a KubeEvent about the status ConfigMap."""


@keepable
@dataclass(slots=True, eq=False)
class Deletion:
    """A node that is going."""

    uid: str
    group: str
    drains: bool
    begun_at: float
    waiting: list[str] = field(default_factory=list)
    """Uids of the pods that have to be evicted yet."""
    leaving: list[str] = field(default_factory=list)
    """Uids of the pods that have been evicted and are not gone yet."""
    evicted_at: float = 0.0


class Actuator(Part):
    """Deletions by node."""

    KEEPS = ("deletions", "failed_at")
    LEAVES = ("announce",)  # wired up when the autoscaler is built

    def __init__(
        self, world: World, config: ClusterAutoscalerConfig, client: Client, cloud: Cloud
    ) -> None:
        self._clock = world.clock
        self._config = config
        self._client = client
        self._cloud = cloud
        self.deletions: dict[str, Deletion] = {}
        self.failed_at = -1e18  # never yet
        self.announce: Announce = _say_nothing
        for kind, handler in (
            ("autoscaler.delete", self._delete),
            ("autoscaler.evict", self._evict),
            ("autoscaler.drained", self._await),
        ):
            self._clock.handle(kind, handler)

    def in_progress(self) -> dict[str, int]:
        """Return how many nodes of each group are going."""
        counts: dict[str, int] = {}
        for deletion in self.deletions.values():
            counts[deletion.group] = counts.get(deletion.group, 0) + 1
        return counts

    def start(
        self,
        empty: list[Removable],
        occupied: list[Removable],
        group_of: Callable[[NodeRecord], str],
    ) -> bool:
        """Begin to remove as many nodes as may go at once; True when any did."""
        draining = len([deletion for deletion in self.deletions.values() if deletion.drains])
        room = self._config.most_deletions - len(self.deletions)
        chosen = empty[: max(0, room)]
        room -= len(chosen)
        drains = occupied[: max(0, min(room, self._config.most_drains - draining))]
        for entry in (*chosen, *drains):
            self._mark(entry.node)
            self._announce_start(entry)
            deletion = Deletion(
                entry.node.uid, group_of(entry.node), bool(entry.moving), self._client.now
            )
            self.deletions[entry.node.name] = deletion
            self._clock.after(
                self._config.delete_delay_seconds,
                "autoscaler.delete",
                entry.node.name,
                entry.node.uid,
            )
        return bool(chosen or drains)

    def set_soft_taints(self, needed: Iterable[NodeRecord], unneeded: Iterable[NodeRecord]) -> None:
        """Free nodes that are needed after all, then mark unneeded ones PreferNoSchedule, a few at a time."""
        left = self._config.most_soft_taints
        rows = [(node, False) for node in needed] + [(node, True) for node in unneeded]
        for node, wanted in rows:
            if has_taint(node, DELETION_CANDIDATE) == wanted or has_taint(node, TO_BE_DELETED):
                continue
            if left <= 0:
                return
            left -= 1
            rest = without_taint(node, DELETION_CANDIDATE)
            value = str(int(self._client.now))
            taint = {"key": DELETION_CANDIDATE, "value": value, "effect": "PreferNoSchedule"}
            self._client.set_node(node, taints=(*rest, taint) if wanted else rest)

    # ---- one node

    def _mark(self, node: NodeRecord) -> None:
        taint = {
            "key": TO_BE_DELETED,
            "value": str(int(self._client.now)),
            "effect": "NoSchedule",
        }
        rest = without_taint(node, TO_BE_DELETED)
        self._client.set_node(node, taints=(*rest, taint), unschedulable=True)
        self._client.report(
            node, "Node", "ScaleDown", "marked the node as toBeDeleted/unschedulable"
        )

    def _announce_start(self, entry: Removable) -> None:
        name = entry.node.name
        if not entry.moving:
            self.announce("ScaleDownEmpty", f'Scale-down: removing empty node "{name}"')
            return
        pods = ",".join(pod.name for pod in entry.moving)
        text = (
            f"Scale-down: removing node {name}, utilization: {entry.utilization:g}, "
            f"pods to reschedule: {pods}"
        )
        self.announce("ScaleDown", text)

    def _delete(self, name: str, uid: str) -> None:
        deletion, node = self.deletions.get(name), self._client.node(name)
        if deletion is None or node is None or node.uid != uid:
            self.deletions.pop(name, None)
            return
        pods = self._client.pods_on(name)
        try:
            budgets = {pod.uid: self._client.budgets(pod) for pod in pods}
            moving = pods_to_move(pods, budgets, self._config, self._client.now)
        except Blocked as blocked:
            self._fail(node, f"failed to drain the node: {blocked}")
            return
        if moving and not deletion.drains:
            self._fail(node, f'failed to delete empty node "{name}", new pods scheduled')
            return
        if not deletion.drains:
            self._finish(node, drained=False)
            return
        deletion.waiting = [pod.uid for pod in moving]
        deletion.begun_at = self._client.now
        for pod in moving:
            text = "deleting pod for node scale down"
            self._client.report(pod, "Pod", "ScaleDown", text)
        for pod in pods:  # those of DaemonSets are evicted as well, and not waited for
            if is_daemon(pod):
                self._client.evict(pod)
        self._evict(name, uid)

    def _evict(self, name: str, uid: str) -> None:
        deletion, node = self.deletions.get(name), self._client.node(name)
        if deletion is None or node is None or node.uid != uid:
            return
        still = []
        for pod_uid in deletion.waiting:
            pod = self._client.pod(pod_uid)
            if pod is None:
                continue
            grace = int(min(pod.shape.grace_seconds, self._config.graceful_seconds))
            refusal = self._client.evict(pod, grace)
            if refusal is None or refusal.status == 404:
                deletion.leaving.append(pod_uid)
            else:
                still.append(pod_uid)
        deletion.waiting = still
        now = self._client.now
        if not still:
            deletion.evicted_at = now
            self._await(name, uid)
        elif now + _RETRY_SECONDS < deletion.begun_at + self._config.eviction_seconds:
            self._clock.after(_RETRY_SECONDS, "autoscaler.evict", name, uid)
        else:
            for pod in filter(None, map(self._client.pod, still)):
                text = "failed to delete pod for ScaleDown"
                self._client.report(pod, "Pod", "ScaleDownFailed", text)
            self._fail(node, "failed to drain the node: pods could not be evicted in time")

    def _await(self, name: str, uid: str) -> None:
        """Wait until the evicted pods are gone, as long as the longest grace may take."""
        deletion, node = self.deletions.get(name), self._client.node(name)
        if deletion is None or node is None or node.uid != uid:
            self.deletions.pop(name, None)
            return
        there = [pod for pod in map(self._client.pod, deletion.leaving) if _is_on(pod, name)]
        if not there:
            self._finish(node, drained=True)
            return
        latest = deletion.evicted_at + self._config.graceful_seconds + _HEADROOM_SECONDS
        if self._client.now < latest:
            self._clock.after(_LOOK_SECONDS, "autoscaler.drained", name, uid)
        else:
            self._fail(node, "failed to drain the node: pods remaining after timeout")

    def _finish(self, node: NodeRecord, *, drained: bool) -> None:
        name = node.name
        self.deletions.pop(name, None)
        self._client.report(node, "Node", "ScaleDown", "nodes removed by cluster autoscaler")
        self._cloud.stop(name)
        if drained:
            self.announce("ScaleDown", f"Scale-down: node {name} removed with drain")
        else:
            self.announce("ScaleDownEmpty", f"Scale-down: empty node {name} removed")

    def _fail(self, node: NodeRecord, why: str) -> None:
        """Take a node back into service."""
        self.deletions.pop(node.name, None)
        self.failed_at = self._client.now
        rest = without_taint(node, TO_BE_DELETED)
        self._client.set_node(node, taints=rest, unschedulable=False)
        self._client.report(node, "Node", "ScaleDownFailed", why)


def _say_nothing(reason: str, message: str) -> None:
    """Stand in until the autoscaler is built."""


def _is_on(pod: PodRecord | None, node_name: str) -> bool:
    return pod is not None and pod.node_name == node_name
