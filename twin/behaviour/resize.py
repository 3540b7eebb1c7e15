"""In-place resize: the kubelet's answer to new amounts in a bound pod's spec.

First it allocates: a resize that can never fit the node, or that a static CPU or memory manager
forbids, is Infeasible; one that does not fit beside the node's other pods is Deferred and tried again
when one of them goes or shrinks, and every three minutes. Then it actuates, a moment later: without
a restart, or with one where the container's resizePolicy asks for it. A memory limit is not lowered
to what is in use: that is an Error, tried again every ten seconds.
Source: kubernetes/kubernetes pkg/kubelet/allocation/allocation_manager.go and handlers.go,
pkg/kubelet/kuberuntime/kuberuntime_manager.go (computePodResizeAction, validateMemoryResizeAction).
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

from inputs.quantities import parse_quantity
from twin.behaviour.kubelet import Kubelet
from twin.behaviour.usage_table import UsageTable
from twin.changes import Change
from twin.intake import resources_of
from twin.part import Part
from twin.records import NodeRecord, Object, PodRecord, PodShape, Resize, ResizeCondition
from twin.world import World

_SYNC_SECONDS = 0.1  # the kubelet's watch sees the change
_ACTUATION_SECONDS = (
    1.0  # the runtime's update and the status that follows it; no documented figure
)
_RETRY_SECONDS = 180.0  # retryDelay
_ERROR_SECONDS = 10.0  # backOffPeriod of pkg/kubelet/kubelet.go
_STATIC = "Resize is infeasible for Guaranteed Pods alongside {} Manager policy"
_QOS_RANK = {"Guaranteed": 0, "Burstable": 1, "BestEffort": 2}


class Resizer(Part):
    """Allocates and carries out resizes; without any it does nothing."""

    KEEPS = ("_deferred", "_retries")

    def __init__(self, world: World, usage: UsageTable, kubelet: Kubelet) -> None:
        self._world = world
        self._usage = usage
        self._kubelet = kubelet
        self._deferred: dict[str, dict[str, None]] = {}  # pod uids by node, in order of asking
        self._retries: dict[str, float] = {}  # nodes with a periodic retry ahead, and its time
        world.clock.handle("resize.sync", self._sync)
        world.clock.handle("resize.actuate", self._actuate)
        world.clock.handle("resize.started", self._finish_started)
        world.clock.handle("resize.retry", self._retry)
        world.clock.handle("resize.periodic", self._retry_periodically)

    def follow(self, change: Change) -> None:
        """Plan what a change of a pod asks for."""
        pod, before = change.record, change.before
        assert isinstance(pod, PodRecord)
        resize = pod.resize
        if resize is not None and isinstance(before, PodRecord):
            if before.shape is not pod.shape:
                self._world.clock.after(_SYNC_SECONDS, "resize.sync", pod.uid)
            started = before.container_state != "running" and pod.container_state == "running"
            if started and resize.in_progress is not None:
                generation = resize.in_progress.generation
                self._world.clock.after(0.0, "resize.started", pod.uid, generation)
        gone = change.type == "DELETED" or pod.terminal
        if self._deferred and gone and pod.node_name in self._deferred:
            self._world.clock.after(_SYNC_SECONDS, "resize.retry", pod.node_name)

    # ---- allocation

    def _sync(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.terminal or pod.deletion_at is not None:
            return
        if pod.resize is None or resources_of(pod.allocated) == resources_of(pod.shape):
            self._forget(pod.node_name, uid)
            return
        node = self._world.node(pod.node_name)
        if node is None or not self._world.up(pod.node_name):
            return
        reason, message = self._reason_to_wait(pod, node)
        if reason == "Deferred":
            self._deferred.setdefault(pod.node_name, {})[uid] = None
            self._plan_retry(pod.node_name)
        else:
            self._forget(pod.node_name, uid)
        if reason:
            self._show_pending(pod, reason, message)
        else:
            self._allocate(pod)

    def _forget(self, node_name: str, uid: str) -> None:
        waiting = self._deferred.get(node_name)
        if waiting is not None:
            waiting.pop(uid, None)
            if not waiting:
                del self._deferred[node_name]

    def _reason_to_wait(self, pod: PodRecord, node: NodeRecord) -> tuple[str, str]:
        """Return why the resize has to wait, or nothing."""
        if static := self._static_policy(pod):
            return "Infeasible", static
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

    def _static_policy(self, pod: PodRecord) -> str:
        """Return why a manager with exclusive CPUs or memory forbids it, or nothing."""
        config = self._world.config.kubelet
        if pod.shape.qos != "Guaranteed":
            return ""
        for resource, title, policy, static in (
            ("cpu", "CPU", config.cpu_manager_policy, "static"),
            ("memory", "Memory", config.memory_manager_policy, "Static"),
        ):
            if policy == static and _requests(pod.shape, resource) != _requests(
                pod.allocated, resource
            ):
                return f'{_STATIC.format(title)} "{static}"'
        return ""

    def _show_pending(self, pod: PodRecord, reason: str, message: str) -> None:
        """Set the pending condition; its time moves when its reason does."""
        resize, generation = pod.resize, pod.generation
        assert resize is not None
        known = resize.pending
        same = known is not None and known.reason == reason
        since = known.since if known is not None and same else self._world.now
        condition = ResizeCondition(reason, message, since, generation)
        if condition == known:
            return
        before = pod.clone()
        pod.resize = replace(resize, pending=condition)
        self._world.store.touch("pods", pod, before)
        if known is None or not same or known.generation != generation:
            text = _summary(pod.shape, generation, message)
            self._report(pod, f"Resize{reason}", f"Pod resize {reason}: {text}")

    def _allocate(self, pod: PodRecord) -> None:
        world, before = self._world, pod.clone()
        condition = ResizeCondition("", "", world.now, pod.generation)
        pod.resize = Resize(pod.shape, pod.actual, None, condition)
        world.store.touch("pods", pod, before)
        text = _summary(pod.shape, pod.generation)
        self._report(pod, "ResizeStarted", f"Pod resize started: {text}")
        world.clock.after(_ACTUATION_SECONDS, "resize.actuate", pod.uid, pod.generation)
        if pod.node_name in self._deferred:  # it may have shrunk
            world.clock.after(_SYNC_SECONDS, "resize.retry", pod.node_name)

    # ---- actuation

    def _actuate(self, uid: str, generation: int) -> None:
        pod = self._in_progress(uid, generation)
        if pod is None or pod.container_state != "running":
            return  # what starts later starts with what is allocated
        if _requires_restart(pod):
            self._kubelet.restart_for_resize(pod)
        elif error := self._memory_error(pod):
            self._show_error(pod, error)
            self._world.clock.after(_ERROR_SECONDS, "resize.actuate", uid, generation)
        else:
            self._finish(pod)

    def _finish_started(self, uid: str, generation: int) -> None:
        pod = self._in_progress(uid, generation)
        if pod is not None and pod.container_state == "running":
            self._finish(pod)

    def _in_progress(self, uid: str, generation: int) -> PodRecord | None:
        pod = self._world.pods.get(uid)
        if pod is None or pod.resize is None or not self._world.up(pod.node_name):
            return None
        condition = pod.resize.in_progress
        return pod if condition is not None and condition.generation == generation else None

    def _memory_error(self, pod: PodRecord) -> str:
        """Return why its memory limit cannot be lowered, or nothing."""
        limit, now = pod.allocated.memory_limit_bytes, pod.actual.memory_limit_bytes
        row = self._usage.row_of.get(pod.uid)
        if row is None or limit is None or (now is not None and limit >= now):
            return ""
        used = int(self._usage["memory_now"][row])
        if used < limit:
            return ""
        errors = [f"attempting to set pod memory limit ({limit}) below current usage ({used})"]
        if len(pod.shape.containers) == 1:
            name = pod.shape.containers[0]
            errors.append(
                f'attempting to set container "{name}" memory limit ({limit}) '
                f"below current usage ({used})"
            )
        text = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
        return f"cannot decrease memory limits: {text}"

    def _show_error(self, pod: PodRecord, message: str) -> None:
        resize = pod.resize
        assert resize is not None
        assert resize.in_progress is not None
        condition = replace(resize.in_progress, reason="Error", message=message)
        if condition == resize.in_progress:
            return
        before = pod.clone()
        pod.resize = replace(resize, in_progress=condition)
        self._world.store.touch("pods", pod, before)
        text = _summary(pod.allocated, condition.generation, message)
        self._report(pod, "ResizeError", f"Pod resize error: {text}")

    def _finish(self, pod: PodRecord) -> None:
        resize = pod.resize
        assert resize is not None
        assert resize.in_progress is not None
        before, shape = pod.clone(), resize.allocated
        generation = resize.in_progress.generation
        waits = resources_of(shape) != resources_of(pod.shape)
        pod.resize = Resize(shape, shape, resize.pending) if waits else None
        self._world.store.touch("pods", pod, before)
        row = self._usage.row_of.get(pod.uid)
        if row is not None:
            limits = (shape.cpu_limit_millicores, shape.memory_limit_bytes)
            for column, limit in zip(("cpu_limit", "memory_limit"), limits, strict=True):
                self._usage[column][row] = math.inf if limit is None else limit
            self._usage["memory_request"][row] = shape.memory_request_bytes
        text = _summary(shape, generation)
        self._report(pod, "ResizeCompleted", f"Pod resize completed: {text}")

    # ---- retries

    def _plan_retry(self, node_name: str) -> None:
        if node_name not in self._retries:
            self._retries[node_name] = self._world.now + _RETRY_SECONDS
            self._world.clock.after(_RETRY_SECONDS, "resize.periodic", node_name)

    def _retry_periodically(self, node_name: str) -> None:
        self._retries.pop(node_name, None)
        self._retry(node_name)

    def _retry(self, node_name: str) -> None:
        """Try what is deferred: first what does not grow, then by priority, QoS class and age."""
        waiting = self._deferred.get(node_name, {})
        pods = [self._world.pods[uid] for uid in waiting if uid in self._world.pods]
        for uid in [uid for uid in waiting if uid not in self._world.pods]:
            self._forget(node_name, uid)
        for pod in sorted(pods, key=_retry_order):
            self._sync(pod.uid)

    def _report(self, pod: PodRecord, reason: str, text: str) -> None:
        self._world.reporter.report(pod, "Pod", reason, text, "kubelet")


def _retry_order(pod: PodRecord) -> tuple[bool, int, int, float]:
    asked, has = pod.shape, pod.allocated
    grows = (
        asked.cpu_request_millicores > has.cpu_request_millicores
        or asked.memory_request_bytes > has.memory_request_bytes
    )
    pending = pod.resize.pending if pod.resize is not None else None
    since = pending.since if pending is not None else math.inf
    return grows, -asked.priority, _QOS_RANK[asked.qos], since


def _requests(shape: PodShape, resource: str) -> list[object]:
    amounts = [(entry.get("requests") or {}).get(resource, 0) for entry in resources_of(shape)]
    return [parse_quantity(amount) for amount in amounts]


def _requires_restart(pod: PodRecord) -> bool:
    """True when a container whose amounts change asks for a restart then."""
    now = resources_of(pod.actual)
    for container, had, has in zip(
        pod.allocated.spec["containers"], now, resources_of(pod.allocated), strict=True
    ):
        for policy in container.get("resizePolicy") or ():
            name = policy["resourceName"]
            if policy["restartPolicy"] == "RestartContainer" and _amounts(had, name) != _amounts(
                has, name
            ):
                return True
    return False


def _amounts(resources: Object, name: str) -> tuple[object, ...]:
    found = [(resources.get(field) or {}).get(name) for field in ("requests", "limits")]
    return tuple(None if amount is None else parse_quantity(amount) for amount in found)


def _summary(shape: PodShape, generation: int, error: str = "") -> str:
    """Return the amounts as the kubelet writes them into its events."""
    containers = [
        {
            "name": name,
            "resources": {
                field: resources[field] for field in ("limits", "requests") if resources.get(field)
            },
        }
        for name, resources in zip(shape.containers, resources_of(shape), strict=True)
    ]
    summary: Object = {"containers": containers, "generation": generation}
    return json.dumps({**summary, "error": error} if error else summary, separators=(",", ":"))
