"""Node failure and recovery, and what taints do to pods that already run.

Nodes give a sign of life every 10 s, each at its own moment, and the node controller looks every 5 s:
a machine that stops is noticed 40 to 55 s later (50 s after its last sign). Ready becomes Unknown,
the unreachable taints appear and its pods are unready. NoExecute taints delete pods when their
toleration runs out (300 s by default); those pods stay Terminating until the machine is back. Pods of
a node that no longer exists are deleted after 40 s.
"""

from __future__ import annotations

import hashlib
import math

from twin.admission.pods import NOT_READY, UNREACHABLE
from twin.behaviour.kubelet import Kubelet
from twin.changes import Change
from twin.clock import exact
from twin.part import Part
from twin.records import NodeRecord, Object, PodRecord
from twin.scheduling.placement_rules import covers
from twin.world import World

_DAY_SECONDS = 86_400.0
_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_TAINT_EVICTION = "DeletionByTaintManager"
_ORPHANED = "DeletionByPodGC"


class NodeLifecycle(Part):
    """Fails and recovers machines, and runs the taint manager."""

    KEEPS = ("_tainted_at", "_back_at")

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        self._world = world
        self._kubelet = kubelet
        self._waits = world.chance.draws("node failures")
        self._repairs = world.chance.draws("node repairs")
        self._tainted_at: dict[str, dict[str, float]] = {}  # node: taint key: since (NoExecute)
        self._back_at: dict[str, float] = {}
        for kind, handler in (
            ("node.notice", self._notice),
            ("node.recover", self._recover),
            ("node.random_failure", self._fail_randomly),
            ("taint.evict", self._evict),
            ("node.orphans", self._delete_orphans),
            ("node.joined", self._kubelet_joined),
            ("node.cordon", self._follow_cordon),
        ):
            world.clock.handle(kind, handler)

    def fail(self, node_name: str, duration_seconds: float) -> None:
        """Stop a machine now, for a time (inf: for good); a second failure lengthens the first,
        never shortens it.

        Raises ApiError 404 for an unknown node.
        """
        world = self._world
        world.store.record("nodes", "", node_name)
        back = world.now + duration_seconds
        if back < math.inf:  # as the clock rounds, or the recovery would come a moment too early
            back = exact(back)
        self._back_at[node_name] = max(back, self._back_at.get(node_name, 0.0))
        if self._back_at[node_name] < math.inf:
            world.clock.at(self._back_at[node_name], "node.recover", node_name)
        if node_name not in world.down:
            world.down[node_name] = world.now
            self._kubelet.lose(node_name)
            when, sign = self.notice_at(node_name), self.last_sign(node_name)
            world.clock.at(when, "node.notice", node_name, world.now, sign)

    def last_sign(self, node_name: str) -> float:
        """Return when a machine that stops now gave its last sign of life, unix seconds."""
        period, now = self._world.config.machines.status_seconds, self._world.now
        if period <= 0.0:
            return now
        digest = hashlib.blake2b(node_name.encode(), digest_size=4).digest()
        offset = period * int.from_bytes(digest, "big") / 2**32
        return offset + period * math.floor((now - offset) / period)

    def notice_at(self, node_name: str) -> float:
        """Return when the node controller notices that a machine stops now, unix seconds."""
        config = self._world.config
        due = self.last_sign(node_name) + config.node_grace_seconds
        period = config.machines.monitor_seconds
        return period * math.ceil(due / period) if period > 0.0 else due

    def expect_failures(self, node: NodeRecord, number: int = 0) -> None:
        """Plan the node's next random failure, its `number`-th, if the settings ask for any."""
        rate = self._world.config.node_failures_per_day
        if rate > 0.0:
            wait = self._waits.exponential(_DAY_SECONDS / rate, node.uid, number)
            self._world.clock.after(wait, "node.random_failure", node.name, node.uid, number)

    def follow(self, change: Change) -> None:
        """Start the toleration clocks of pods on nodes with NoExecute taints."""
        record = change.record
        if isinstance(record, NodeRecord):
            self._follow_node(record, removed=change.type == "DELETED")
            if change.type == "ADDED" and self._world.pods_on.get(record.name):
                self._world.clock.after(0.0, "node.joined", record.name)
        elif isinstance(record, PodRecord) and change.type != "DELETED":
            bound = change.previous_fields is None or not change.previous_fields[0]
            if bound and record.node_name and self._world.node(record.node_name) is None:
                wait = self._world.config.machines.orphan_seconds
                self._world.clock.after(wait, "node.orphans", record.node_name)
            if bound and record.node_name in self._tainted_at:
                node = self._world.node(record.node_name)
                self._start_clocks(record, [] if node is None else _no_execute(node))

    def _follow_node(self, node: NodeRecord, *, removed: bool) -> None:
        known = self._tainted_at.get(node.name, {})
        taints = [] if removed else _no_execute(node)
        if removed:
            self._world.down.pop(node.name, None)
            self._back_at.pop(node.name, None)
            self._kubelet.lose(node.name)
            wait = self._world.config.machines.orphan_seconds
            self._world.clock.after(wait, "node.orphans", node.name)
        since = {taint["key"]: known.get(taint["key"], self._world.now) for taint in taints}
        if since:
            self._tainted_at[node.name] = since
        else:
            self._tainted_at.pop(node.name, None)
        fresh = [taint for taint in taints if taint["key"] not in known]
        if fresh:
            for pod in self._world.pods_on.get(node.name, {}).values():
                self._start_clocks(pod, fresh)
        if not removed and node.unschedulable != _is_tainted(node):
            self._world.clock.after(0.0, "node.cordon", node.name)

    def _follow_cordon(self, node_name: str) -> None:
        """Taint a node that is cordoned, and no other."""
        node = self._world.node(node_name)
        if node is None or node.unschedulable == _is_tainted(node):
            return
        before = node.clone()
        rest = tuple(taint for taint in node.taints if not _is_cordon(taint))
        node.taints = (*rest, dict(_CORDON)) if node.unschedulable else rest
        self._world.store.touch("nodes", node, before)

    def _start_clocks(self, pod: PodRecord, taints: list[Object]) -> None:
        for taint in taints:
            wait = _toleration_seconds(pod, taint)
            if wait is not None:
                since = self._tainted_at[pod.node_name][taint["key"]]
                key = str(taint["key"])
                self._world.clock.after(wait, "taint.evict", pod.uid, pod.node_name, key, since)

    def _evict(self, uid: str, node_name: str, key: str, since: float) -> None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.deletion_at is not None or pod.terminal:
            return
        if self._tainted_at.get(node_name, {}).get(key) != since:
            return  # the taint went in the meantime
        before = pod.clone()
        pod.disruption = _TAINT_EVICTION
        self._world.store.touch("pods", pod, before)
        text = f"Marking for deletion Pod {pod.namespace}/{pod.name}: taint {key}"
        self._world.reporter.report(pod, "Pod", "Evicted", text, "taint-eviction-controller")
        self._world.store.delete("pods", pod.namespace, pod.name)

    def _notice(self, node_name: str, failed_at: float, last_sign: float) -> None:
        world, node = self._world, self._world.node(node_name)
        if node is None or world.down.get(node_name) != failed_at:
            return
        before = node.clone()
        node.ready_status, node.ready_since = "Unknown", world.now
        node.heartbeat_at = last_sign
        rest = tuple(taint for taint in node.taints if taint["key"] != UNREACHABLE)
        node.taints = (
            *rest,
            *({"key": UNREACHABLE, "effect": effect} for effect in ("NoSchedule", "NoExecute")),
        )
        world.store.touch("nodes", node, before)
        text = f"Node {node_name} status is now: NodeNotReady"
        world.reporter.report(node, "Node", "NodeNotReady", text, "node-controller")
        for pod in list(world.pods_on.get(node_name, {}).values()):
            if pod.ready:
                was = pod.clone()
                pod.ready, pod.ready_at = False, world.now
                world.store.touch("pods", pod, was)

    def _recover(self, node_name: str) -> None:
        world, node = self._world, self._world.node(node_name)
        if world.now < self._back_at.get(node_name, 0.0) or node_name not in world.down:
            return
        del world.down[node_name]
        del self._back_at[node_name]
        if node is None:
            return
        before = node.clone()
        if node.ready_status != "True":
            node.ready_status, node.ready_since = "True", world.now
        cured = (UNREACHABLE, NOT_READY)
        node.taints = tuple(taint for taint in node.taints if taint["key"] not in cured)
        node.heartbeat_at = world.now
        world.store.touch("nodes", node, before)
        text = f"Node {node_name} status is now: NodeReady"
        world.reporter.report(node, "Node", "NodeReady", text, "kubelet")
        self._kubelet.recover(node_name)

    def _kubelet_joined(self, node_name: str) -> None:
        """Let a node that was made for pods which are there already take them over."""
        if self._world.up(node_name):
            self._kubelet.recover(node_name)

    def _delete_orphans(self, node_name: str) -> None:
        """Delete the pods of a node that is gone, as the pod garbage collector does."""
        world = self._world
        if world.node(node_name) is not None:
            return
        for pod in list(world.pods_on.get(node_name, {}).values()):
            if not pod.terminal:
                before = pod.clone()
                pod.phase, pod.disruption = "Failed", _ORPHANED
                pod.ready, pod.ready_at = False, world.now
                world.store.touch("pods", pod, before)
            world.store.delete("pods", pod.namespace, pod.name, grace_period_seconds=0)

    def _fail_randomly(self, node_name: str, uid: str, number: int) -> None:
        node = self._world.node(node_name)
        if node is None or node.uid != uid:
            return  # it is gone; another of its name has failures of its own
        if node_name not in self._world.down:
            mean = self._world.config.node_repair_seconds
            self.fail(node_name, self._repairs.exponential(mean, uid, number))
        self.expect_failures(node, number + 1)


def _is_cordon(taint: Object) -> bool:
    return bool(taint["key"] == _CORDON["key"] and taint["effect"] == _CORDON["effect"])


def _is_tainted(node: NodeRecord) -> bool:
    return any(map(_is_cordon, node.taints))


def _no_execute(node: NodeRecord) -> list[Object]:
    return [taint for taint in node.taints if taint["effect"] == "NoExecute"]


def _toleration_seconds(pod: PodRecord, taint: Object) -> float | None:
    """Return how long the pod may stay: 0 without toleration, None for ever."""
    tolerations = [entry for entry in pod.shape.tolerations if covers(entry, taint)]
    if not tolerations:
        return 0.0
    limits = [entry["tolerationSeconds"] for entry in tolerations if "tolerationSeconds" in entry]
    return max(0.0, float(min(limits))) if limits else None
