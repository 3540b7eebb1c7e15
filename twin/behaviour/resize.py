"""In-place resize: the kubelet's answer to new amounts in a bound pod's spec.

A resize that can never fit the node is Infeasible; one that does not fit beside the node's other
pods is Deferred and tried again when one of them goes or shrinks, and every three minutes; any
other is allocated at once and carried out a moment later, without a restart.
Source: kubernetes/kubernetes pkg/kubelet/allocation/allocation_manager.go (1.34).
Not modelled: the restart that a container's resizePolicy may ask for, and the refusal to set a
memory limit below what is in use (the container is killed for memory instead).
"""

from __future__ import annotations

import math

from twin.behaviour.usage_table import UsageTable
from twin.changes import Change
from twin.part import Part
from twin.quantity import cpu_text, memory_text
from twin.records import NodeRecord, PodRecord, Resize
from twin.world import World

_SYNC_SECONDS = 0.1  # the kubelet's watch sees the change
_ACTUATION_SECONDS = 1.0  # the runtime's update and the status that follows it
_RETRY_SECONDS = 180.0
_PENDING, _IN_PROGRESS = "PodResizePending", "PodResizeInProgress"


class Resizer(Part):
    """Allocates and carries out resizes; without any it does nothing."""

    KEEPS = ("_deferred",)

    def __init__(self, world: World, usage: UsageTable) -> None:
        self._world = world
        self._usage = usage
        self._deferred: dict[str, dict[str, None]] = {}  # pod uids by node, in order of asking
        world.clock.handle("resize.sync", self._sync)
        world.clock.handle("resize.done", self._finish)
        world.clock.handle("resize.retry", self._retry)

    def follow(self, change: Change) -> None:
        """Plan what a change of a pod asks for."""
        pod = change.record
        assert isinstance(pod, PodRecord)
        if pod.resize is not None and pod.resize.condition == "":
            before = change.before
            if isinstance(before, PodRecord) and before.shape is not pod.shape:
                self._world.clock.after(_SYNC_SECONDS, "resize.sync", pod.uid)
        gone = change.type == "DELETED" or pod.terminal
        if self._deferred and gone and pod.node_name in self._deferred:
            self._world.clock.after(_SYNC_SECONDS, "resize.retry", pod.node_name)

    def _sync(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.resize is None or pod.terminal or pod.deletion_at is not None:
            return
        node = self._world.node(pod.node_name)
        if node is None or not self._world.up(pod.node_name):
            return
        reason, message = self._reason_to_wait(pod, node)
        waiting = self._deferred.setdefault(pod.node_name, {})
        waiting.pop(uid, None)
        if reason == "Deferred":
            waiting[uid] = None
            self._world.clock.after(_RETRY_SECONDS, "resize.retry", pod.node_name)
        if not waiting:
            del self._deferred[pod.node_name]
        if reason:
            self._show(pod, _PENDING, reason, message)
        else:
            self._allocate(pod)

    def _reason_to_wait(self, pod: PodRecord, node: NodeRecord) -> tuple[str, str]:
        """Return why the resize has to wait, or nothing."""
        shape = pod.shape
        others = [
            one.allocated
            for one in self._world.pods_on.get(node.name, {}).values()
            if one.uid != pod.uid and not one.terminal
        ]
        rows = (
            ("memory", shape.memory_request_bytes, node.allocatable_memory_bytes,
             sum(other.memory_request_bytes for other in others)),
            ("cpu", shape.cpu_request_millicores, node.allocatable_cpu_millicores,
             sum(other.cpu_request_millicores for other in others)),
        )  # fmt: skip
        for name, asked, offered, _ in rows:
            if asked > offered:
                text = f"{name}, requested: {asked}, capacity: {offered}"
                return "Infeasible", f"Node didn't have enough capacity: {text}"
        for name, asked, offered, used in rows:
            if asked + used > offered:
                text = f"{name}, requested: {asked}, used: {used}, capacity: {offered}"
                return "Deferred", f"Node didn't have enough resource: {text}"
        return "", ""

    def _allocate(self, pod: PodRecord) -> None:
        world, before = self._world, pod.clone()
        pod.resize = Resize(pod.shape, _IN_PROGRESS, "", "", world.now)
        world.store.touch("pods", pod, before)
        self._report(pod, "ResizeStarted", f"Pod resize started: {_amounts(pod)}")
        world.clock.after(_ACTUATION_SECONDS, "resize.done", pod.uid, world.now)
        if pod.node_name in self._deferred:  # it may have shrunk
            world.clock.after(_SYNC_SECONDS, "resize.retry", pod.node_name)

    def _finish(self, uid: str, since: float) -> None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.resize is None or pod.resize.since != since:
            return
        if pod.resize.condition != _IN_PROGRESS or not self._world.up(pod.node_name):
            return
        before = pod.clone()
        pod.resize = None
        self._world.store.touch("pods", pod, before)
        row = self._usage.row_of.get(uid)
        if row is not None:
            limits = (pod.shape.cpu_limit_millicores, pod.shape.memory_limit_bytes)
            for column, limit in zip(("cpu_limit", "memory_limit"), limits, strict=True):
                self._usage[column][row] = math.inf if limit is None else limit
            self._usage["memory_request"][row] = pod.shape.memory_request_bytes
        self._report(pod, "ResizeCompleted", f"Pod resize completed: {_amounts(pod)}")

    def _retry(self, node_name: str) -> None:
        for uid in list(self._deferred.get(node_name, ())):
            if uid in self._world.pods:
                self._sync(uid)
            else:
                self._deferred[node_name].pop(uid)
        if not self._deferred.get(node_name, True):
            del self._deferred[node_name]

    def _show(self, pod: PodRecord, condition: str, reason: str, message: str) -> None:
        """Set the pending condition; its time moves when its reason does."""
        known = pod.resize
        assert known is not None
        if (known.condition, known.reason, known.message) == (condition, reason, message):
            return
        same = (known.condition, known.reason) == (condition, reason)
        since = known.since if same else self._world.now
        before = pod.clone()
        pod.resize = Resize(known.allocated, condition, reason, message, since)
        self._world.store.touch("pods", pod, before)
        if not same:
            self._report(pod, f"Resize{reason}", f"Pod resize pending: {message}")

    def _report(self, pod: PodRecord, reason: str, text: str) -> None:
        self._world.reporter.report(pod, "Pod", reason, text, "kubelet")


def _amounts(pod: PodRecord) -> str:
    shape = pod.shape
    cpu, memory = cpu_text(shape.cpu_request_millicores), memory_text(shape.memory_request_bytes)
    return f"requests cpu {cpu}, memory {memory}"
