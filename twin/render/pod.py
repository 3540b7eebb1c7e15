"""One pod as JSON: spec from its shape, status from its record."""

from __future__ import annotations

from twin.records import Object, PodRecord
from twin.render.init_containers import (
    init_containers_done,
    init_names,
    init_statuses,
    waiting_reason,
)
from twin.render.metadata import render_metadata
from twin.render.readiness import closed_gates
from twin.timestamps import rfc3339

PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
_GATED = "Scheduling is blocked due to non-empty scheduling gates"
_DISRUPTIONS = {
    "EvictionByEvictionAPI": "Eviction API: evicting",
    "DeletionByTaintManager": "Taint manager: deleting due to NoExecute taint",
    "DeletionByPodGC": "PodGC: node no longer exists",
    "PreemptionByScheduler": "default-scheduler: preempting to accommodate a higher priority pod",
}
"""Messages of the DisruptionTarget condition, by reason, in the words of who sets it."""


def render_pod(pod: PodRecord) -> Object:
    """Return a core/v1 Pod."""
    metadata = {**render_metadata(pod), "generation": pod.generation}
    if pod.generate_name:
        metadata["generateName"] = pod.generate_name
    spec = pod.shape.spec
    if pod.node_name:
        spec = {**spec, "nodeName": pod.node_name}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": spec,
        "status": _status(pod),
    }


def _status(pod: PodRecord) -> Object:
    status: Object = {"phase": pod.phase}
    if conditions := _conditions(pod):
        status["conditions"] = conditions
    if pod.started_at is not None:
        unseen = pod.resize is not None and not pod.resize.noticed
        status["observedGeneration"] = pod.generation - unseen
    if pod.nominated_node and not pod.node_name:
        status["nominatedNodeName"] = pod.nominated_node
    if pod.reason:
        status["reason"] = pod.reason
    if pod.message:
        status["message"] = pod.message
    status["qosClass"] = pod.shape.qos
    if pod.host_ip:
        status["hostIP"] = pod.host_ip
        status["hostIPs"] = [{"ip": pod.host_ip}]
    if pod.pod_ip:
        status["podIP"] = pod.pod_ip
        status["podIPs"] = [{"ip": pod.pod_ip}]
    if pod.started_at is not None:
        status["startTime"] = rfc3339(pod.started_at)
    if pod.node_name:
        status["containerStatuses"] = _container_statuses(pod)
        if inits := init_statuses(pod):
            status["initContainerStatuses"] = inits
    return status


def _condition(kind: str, truth: bool, at: float, reason: str = "", message: str = "") -> Object:
    condition: Object = {
        "type": kind,
        "status": "True" if truth else "False",
        "lastProbeTime": None,
        "lastTransitionTime": rfc3339(at),
    }
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _conditions(pod: PodRecord) -> list[Object]:
    conditions = _progress(pod)
    resize = pod.resize
    if resize is not None:
        for kind, held in ((PENDING, resize.pending), (IN_PROGRESS, resize.in_progress)):
            if held is not None:
                condition = _condition(kind, True, held.since, held.reason, held.message)
                conditions.append({**condition, "observedGeneration": held.generation})
    if pod.disruption:
        at = pod.deletion_at if pod.deletion_at is not None else pod.ready_at
        at -= pod.deletion_grace_seconds or 0
        why = _DISRUPTIONS.get(pod.disruption, pod.message)
        conditions.append(_condition("DisruptionTarget", True, at, pod.disruption, why))
    return [*conditions, *pod.conditions] if pod.conditions else conditions


def _progress(pod: PodRecord) -> list[Object]:
    if pod.scheduled_at is None:
        if pod.shape.needs.gates:
            return [_condition("PodScheduled", False, pod.created_at, "SchedulingGated", _GATED)]
        if not pod.unschedulable:
            return []
        return [
            _condition("PodScheduled", False, pod.created_at, "Unschedulable", pod.unschedulable)
        ]
    conditions = [_condition("PodScheduled", True, pod.scheduled_at)]
    if pod.started_at is not None:
        at = max(pod.ready_at, pod.started_at)
        conditions = [
            _initialized_condition(pod, pod.started_at),
            *_ready_conditions(pod, at),
            *conditions,
        ]
    return conditions


def _initialized_condition(pod: PodRecord, started_at: float) -> Object:
    if init_containers_done(pod):
        return _condition("Initialized", True, started_at)
    text = f"containers with incomplete status: [{' '.join(init_names(pod))}]"
    return _condition("Initialized", False, started_at, "ContainersNotInitialized", text)


def _ready_conditions(pod: PodRecord, at: float) -> list[Object]:
    """Return Ready and ContainersReady, which differ only by readiness gates."""
    reason, message = _why_not_ready(pod)
    held = pod.containers_ready
    if held is None:
        containers = _condition("ContainersReady", pod.ready, at, reason, message)
        return [_condition("Ready", pod.ready, at, reason, message), containers]
    containers = _condition("ContainersReady", held[0], max(held[1], at), reason, message)
    if held[0] and not pod.ready:
        reason, message = "ReadinessGatesNotReady", ", ".join(closed_gates(pod))
    return [_condition("Ready", pod.ready, at, reason, message), containers]


def _why_not_ready(pod: PodRecord) -> tuple[str, str]:
    if pod.containers_are_ready:
        return "", ""
    if pod.phase == "Succeeded":
        return "PodCompleted", ""
    if pod.phase == "Failed":
        return "PodFailed", ""
    names = " ".join(pod.shape.containers)
    return "ContainersNotReady", f"containers with unready status: [{names}]"


def _container_statuses(pod: PodRecord) -> list[Object]:
    state = _container_state(pod)
    last: Object = {}
    if pod.ended is not None and pod.container_state != "terminated":
        last = {"terminated": _terminated_status(pod)}
    ever_ran = pod.container_state != "waiting" or pod.ended is not None
    allocated = pod.allocated.spec["containers"]
    runs = pod.container_state == "running"
    given = pod.actual.spec["containers"] if runs else allocated
    rows = zip(pod.shape.containers, pod.shape.images, allocated, given, strict=True)
    return [
        {
            "name": name,
            "state": state,
            "lastState": last,
            "ready": pod.containers_are_ready,
            "restartCount": pod.restart_count,
            "image": image,
            "imageID": f"simulated://{image}" if ever_ran else "",
            **({"containerID": f"simulated://{pod.uid}/{name}"} if ever_ran else {}),
            "started": pod.container_state == "running",
            **(_granted_resources(aside, has) if ever_ran else {}),
        }
        for name, image, aside, has in rows
    ]


def _granted_resources(allocated: Object, given: Object) -> Object:
    """Return what the kubelet has set aside for a container, and what it runs with."""
    requests = (allocated.get("resources") or {}).get("requests")
    resources = given.get("resources") or {}
    return {
        **({"allocatedResources": requests} if requests else {}),
        **({"resources": resources} if resources else {}),
    }


def _container_state(pod: PodRecord) -> Object:
    if pod.container_state == "running":
        return {"running": {"startedAt": rfc3339(pod.container_since)}}
    if pod.container_state == "terminated":
        return {"terminated": _terminated_status(pod)}
    waiting: Object = {"reason": waiting_reason(pod)}
    if pod.container_message and waiting["reason"] == pod.container_reason:
        waiting["message"] = pod.container_message
    return {"waiting": waiting}


def _terminated_status(pod: PodRecord) -> Object:
    assert pod.ended is not None, "a container that ended says how"
    ended = pod.ended
    terminated: Object = {
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "startedAt": rfc3339(ended.started_at),
        "finishedAt": rfc3339(ended.finished_at),
        "containerID": f"simulated://{pod.uid}/{pod.shape.containers[0]}",
    }
    if ended.message:
        terminated["message"] = ended.message
    return terminated
