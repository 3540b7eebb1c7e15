"""Pods as kube-state-metrics shows them (docs/metrics/workload/pod-metrics.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inputs.quantities import parse_quantity
from twin.exporters.family import KUBE_STATE, Family, ObjectFamilies, Row
from twin.records import PodRecord, Record
from twin.render.init_containers import waiting_reason

TARGET = (("instance", f"{KUBE_STATE}:8080"), ("job", KUBE_STATE))
_POD = ("namespace", "pod", "uid")
_CONTAINER = ("namespace", "pod", "uid", "container")
_AMOUNT = (*_CONTAINER, "node", "resource", "unit")
_PHASES = ("Pending", "Succeeded", "Failed", "Unknown", "Running")
_TRUTHS = ("true", "false", "unknown")
_UNITS = {"cpu": ("cpu", "core"), "memory": ("memory", "byte")}


def _gauge(name: str, text: str, labels: tuple[str, ...]) -> Family:
    return Family(name, "gauge", text, labels, TARGET)


FAMILIES = (
    _gauge(
        "kube_pod_info",
        "Where a pod is and who made it.",
        (*_POD, "host_ip", "pod_ip", "node", "created_by_kind", "created_by_name",
         "priority_class", "host_network"),
    ),
    _gauge("kube_pod_owner", "The pod's owner.",
           (*_POD, "owner_kind", "owner_name", "owner_is_controller")),
    _gauge("kube_pod_created", "When a pod was created, unix seconds.", _POD),
    _gauge("kube_pod_start_time", "When its kubelet saw a pod, unix seconds.", _POD),
    _gauge("kube_pod_status_phase", "The phase of a pod.", (*_POD, "phase")),
    _gauge("kube_pod_status_ready", "Whether a pod is ready.", (*_POD, "condition")),
    _gauge("kube_pod_status_scheduled", "Whether a pod has a node.", (*_POD, "condition")),
    _gauge("kube_pod_status_unschedulable", "Pods that no node can take.", _POD),
    _gauge("kube_pod_status_reason", "Why a pod has failed.", (*_POD, "reason")),
    _gauge("kube_pod_container_info", "Image of a container.", (*_CONTAINER, "image")),
    _gauge("kube_pod_container_status_waiting", "Whether a container waits.", _CONTAINER),
    _gauge("kube_pod_container_status_waiting_reason", "Why it waits.", (*_CONTAINER, "reason")),
    _gauge("kube_pod_container_status_running", "Whether a container runs.", _CONTAINER),
    _gauge("kube_pod_container_status_terminated", "Whether a container has ended.", _CONTAINER),
    _gauge("kube_pod_container_status_terminated_reason", "Why it has ended.",
           (*_CONTAINER, "reason")),
    _gauge("kube_pod_container_status_last_terminated_reason", "Why it ended before.",
           (*_CONTAINER, "reason")),
    _gauge("kube_pod_container_status_ready", "Whether a container is ready.", _CONTAINER),
    Family("kube_pod_container_status_restarts_total", "counter", "Restarts of a container.",
           _CONTAINER, TARGET),
    _gauge("kube_pod_container_resource_requests", "What a container requests.", _AMOUNT),
    _gauge("kube_pod_container_resource_limits", "What a container may use at most.", _AMOUNT),
)  # fmt: skip


def _rows(record: Record) -> Iterator[Row]:
    assert isinstance(record, PodRecord)
    pod, key = record, (record.namespace, record.name, record.uid)
    owner = next((owner for owner in pod.owners if owner.get("controller")), None)
    kind, name = ("", "") if owner is None else (str(owner["kind"]), str(owner["name"]))
    priority = str(pod.shape.spec.get("priorityClassName") or "")
    network = str(bool(pod.shape.spec.get("hostNetwork"))).lower()
    where = (pod.host_ip, pod.pod_ip, pod.node_name, kind, name, priority, network)
    yield "kube_pod_info", (*key, *where), 1.0
    controlled = ("", "", "") if owner is None else (kind, name, "true")
    yield "kube_pod_owner", (*key, *controlled), 1.0
    yield "kube_pod_created", key, float(int(pod.created_at))
    if pod.started_at is not None:
        yield "kube_pod_start_time", key, float(int(pod.started_at))
    for phase in _PHASES:
        yield "kube_pod_status_phase", (*key, phase), float(pod.phase == phase)
    for family, held in (
        ("kube_pod_status_ready", pod.ready),
        ("kube_pod_status_scheduled", pod.scheduled_at is not None),
    ):
        for truth in _TRUTHS:
            yield family, (*key, truth), float(truth == str(held).lower())
    if pod.unschedulable and pod.scheduled_at is None:
        yield "kube_pod_status_unschedulable", key, 1.0
    if pod.reason:
        yield "kube_pod_status_reason", (*key, pod.reason), 1.0
    for container in pod.shape.spec.get("containers") or ():
        yield from _container_rows(pod, (*key, str(container["name"])), container)


def _container_rows(
    pod: PodRecord, key: tuple[str, str, str, str], container: dict[str, Any]
) -> Iterator[Row]:
    yield "kube_pod_container_info", (*key, str(container.get("image", ""))), 1.0
    if pod.node_name:
        for state in ("waiting", "running", "terminated"):
            held = float(pod.container_state == state)
            yield f"kube_pod_container_status_{state}", key, held
            if held and state != "running" and pod.container_reason:
                why = (*key, waiting_reason(pod))
                yield f"kube_pod_container_status_{state}_reason", why, 1.0
        if pod.ended is not None and pod.container_state != "terminated":
            last = (*key, pod.ended.reason)
            yield "kube_pod_container_status_last_terminated_reason", last, 1.0
        yield "kube_pod_container_status_ready", key, float(pod.containers_are_ready)
        yield "kube_pod_container_status_restarts_total", key, float(pod.restart_count)
    resources = container.get("resources") or {}
    for part in ("requests", "limits"):
        for resource, amount in (resources.get(part) or {}).items():
            shown, unit = _UNITS.get(resource, (_metric_word(resource), "integer"))
            values = (*key, pod.node_name, shown, unit)
            yield f"kube_pod_container_resource_{part}", values, float(parse_quantity(amount))


def _metric_word(resource: str) -> str:
    """Return `nvidia_com_gpu` of `nvidia.com/gpu`, as kube-state-metrics does."""
    return "".join(letter if letter.isalnum() else "_" for letter in resource)


PODS = ObjectFamilies("pods", FAMILIES, _rows)
