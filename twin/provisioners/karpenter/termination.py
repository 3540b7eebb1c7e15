"""Draining a node that was deleted, and letting it go when its machine has gone
(pkg/controllers/node/termination, terminator).
"""

from __future__ import annotations

from twin.changes import Change
from twin.config.provisioning import KarpenterConfig
from twin.controllers.conditions import find
from twin.machines.cloud import Cloud
from twin.part import Part
from twin.provisioners.client import Client, is_daemon
from twin.provisioners.karpenter.claims import conditions_of, holds, is_true, set_status, since
from twin.provisioners.karpenter.evictability import is_awaited, is_evictable
from twin.provisioners.karpenter.names import DISRUPTED, EXCLUDE_BALANCERS, FINALIZER
from twin.provisioners.karpenter.pools import read_duration
from twin.provisioners.karpenter.recorder import Recorder
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.world import World

DRAINED = "Drained"
_LOOK_SECONDS = 1.0  # awaitDrain, RequeueAfter
_GONE_SECONDS = 5.0  # awaitInstanceTermination, RequeueAfter
_SOON_SECONDS = 0.05  # latency of a watch at rest: our own choice
_CRITICAL = ("system-cluster-critical", "system-node-critical")


class Termination(Part):
    """Keeps nothing: what it waits for stands on the objects."""

    def __init__(
        self,
        world: World,
        client: Client,
        cloud: Cloud,
        recorder: Recorder,
        config: KarpenterConfig,
    ) -> None:
        self._clock = world.clock
        self._client = client
        self._cloud = cloud
        self._recorder = recorder
        self._config = config
        self._clock.handle("karpenter.drain", self._drain)

    def follow(self, change: Change) -> None:
        """Begin to drain a node that has just been deleted."""
        node, before = change.record, change.before
        if not isinstance(node, NodeRecord) or change.type == "DELETED":
            return
        if node.deletion_at is None or FINALIZER not in node.finalizers:
            return
        if isinstance(before, NodeRecord) and before.deletion_at is not None:
            return
        self._clock.after(_SOON_SECONDS, "karpenter.drain", node.name, node.uid)

    def _drain(self, name: str, uid: str) -> None:
        node = self._client.node(name)
        if node is None or node.uid != uid or FINALIZER not in node.finalizers:
            return
        claim = self._client.find("nodeclaims", "", name)
        if claim is not None and claim.deletion_at is None:
            self._client.delete("nodeclaims", "", name)
        if node.ready_status != "True" and name not in self._cloud.machines:
            self._release(node)
            return
        self._mark(node)
        wait = self._await_drain(node, claim)
        if wait is None:
            wait = self._await_machine(node, claim)
        if wait is None:
            self._release(node)
        else:
            self._clock.after(wait, "karpenter.drain", name, uid)

    def _mark(self, node: NodeRecord) -> None:
        rest = tuple(taint for taint in node.taints if taint["key"] != DISRUPTED["key"])
        has = len(rest) < len(node.taints)
        self._client.set_node(
            node,
            taints=node.taints if has else (*rest, DISRUPTED),
            labels={**node.labels, EXCLUDE_BALANCERS: "karpenter"},
        )

    def _await_drain(self, node: NodeRecord, claim: ObjectRecord | None) -> float | None:
        """Evict what is left, one group of pods after the other; None when the node is drained."""
        if claim is not None and find(conditions_of(claim), DRAINED) is None:
            set_status(self._client, claim, {DRAINED: ("Unknown", "Draining", "Draining")})
        now, pods = self._client.now, self._client.pods_on(node.name)
        self._delete_expiring(pods, claim)
        waiting = [pod for pod in pods if is_awaited(pod, now)]
        if waiting:
            first = min(map(_group, waiting))
            for pod in waiting:
                if _group(pod) == first and is_evictable(pod, now):
                    self._evict(pod, node, claim)
            text = f"Failed to drain node, {len(waiting)} pods are waiting to be evicted"
            self._recorder.say(node, "Node", "FailedDraining", text)
            return _LOOK_SECONDS
        if claim is not None and not is_true(claim, DRAINED):
            if now - since(claim, DRAINED) < self._config.drain_least_seconds:
                return _LOOK_SECONDS
            done = {DRAINED: holds(DRAINED), "VolumesDetached": holds("VolumesDetached")}
            set_status(self._client, claim, done)
        return None

    def _await_machine(self, node: NodeRecord, claim: ObjectRecord | None) -> float | None:
        self._cloud.stop(node.name)
        if claim is not None:
            set_status(self._client, claim, {"InstanceTerminating": holds("InstanceTerminating")})
        return _GONE_SECONDS if node.name in self._cloud.machines else None

    def _release(self, node: NodeRecord) -> None:
        rest = tuple(name for name in node.finalizers if name != FINALIZER)
        self._client.report(node, "Node", "Finalized", f"Finalized {FINALIZER}")
        self._client.set_node(node, finalizers=rest)

    def _evict(self, pod: PodRecord, node: NodeRecord, claim: ObjectRecord | None) -> None:
        refusal = self._client.evict(pod)
        if refusal is None:
            found = None if claim is None else find(conditions_of(claim), "DisruptionReason")
            reason = "Forceful Termination" if found is None else found["reason"]
            self._recorder.say(pod, "Pod", "Evicted", f"Evicted pod: {reason}", pod.name)
        elif refusal.status in (429, 500):
            why = "evicting pod violates a PDB"
            if refusal.status == 500:
                why = "eviction does not support multiple PDBs"
            text = f"Failed to drain node, {why} (Pod={pod.namespace}/{pod.name})"
            self._recorder.say(node, "Node", "FailedDraining", text)

    def _delete_expiring(self, pods: list[PodRecord], claim: ObjectRecord | None) -> None:
        """Delete pods whose grace would reach beyond the end of the node's own."""
        grace = "" if claim is None else claim.body["spec"].get("terminationGracePeriod", "")
        if claim is None or claim.deletion_at is None or not grace:
            return
        end = claim.deletion_at + (read_duration(grace) or 0.0)
        now = self._client.now
        for pod in pods:
            leaving_in_time = pod.deletion_at is not None and pod.deletion_at <= end
            if pod.terminal or leaving_in_time or now <= end - pod.shape.grace_seconds:
                continue
            self._client.delete_pod(pod, max(1, int(end - now)))


def _group(pod: PodRecord) -> tuple[bool, bool]:
    """Return by what pods are drained: ordinary ones first, those of DaemonSets second, then critical."""
    critical = pod.shape.spec.get("priorityClassName") in _CRITICAL
    return (critical, is_daemon(pod))
