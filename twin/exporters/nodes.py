"""Nodes as kube-state-metrics shows them (docs/metrics/cluster/node-metrics.md)."""

from __future__ import annotations

from collections.abc import Iterator

from twin.exporters.family import Family, ObjectFamilies, Row
from twin.exporters.pods import TARGET
from twin.records import NodeRecord, Record
from twin.render.node import render_node

_ROLE = "node-role.kubernetes.io/"
_TRUTHS = ("true", "false", "unknown")
_INFO = {
    "kernel_version": "kernelVersion",
    "os_image": "osImage",
    "container_runtime_version": "containerRuntimeVersion",
    "kubelet_version": "kubeletVersion",
    "kubeproxy_version": "kubeProxyVersion",
    "system_uuid": "systemUUID",
}


def _gauge(name: str, text: str, *labels: str) -> Family:
    return Family(name, "gauge", text, ("node", *labels), TARGET)


FAMILIES = (
    _gauge("kube_node_info", "Versions and addresses of a node.", *_INFO, "internal_ip",
           "provider_id"),
    _gauge("kube_node_created", "When a node was created, unix seconds."),
    _gauge("kube_node_role", "Roles of a node.", "role"),
    _gauge("kube_node_spec_unschedulable", "Whether a node is cordoned."),
    _gauge("kube_node_spec_taint", "Taints of a node.", "key", "value", "effect"),
    _gauge("kube_node_status_condition", "Conditions of a node.", "condition", "status"),
    _gauge("kube_node_status_capacity", "What a node has.", "resource", "unit"),
    _gauge("kube_node_status_allocatable", "What a node offers to pods.", "resource", "unit"),
)  # fmt: skip


def _rows(record: Record) -> Iterator[Row]:
    assert isinstance(record, NodeRecord)
    node, name = record, record.name
    status = render_node(node)["status"]
    info = tuple(status["nodeInfo"][field] for field in _INFO.values())
    yield "kube_node_info", (name, *info, node.internal_ip, f"foresail://{name}"), 1.0
    yield "kube_node_created", (name,), float(int(node.created_at))
    for label in node.labels:
        if label.startswith(_ROLE):
            yield "kube_node_role", (name, label.removeprefix(_ROLE)), 1.0
    yield "kube_node_spec_unschedulable", (name,), float(node.unschedulable)
    for taint in node.taints:
        words = (str(taint["key"]), str(taint.get("value") or ""), str(taint["effect"]))
        yield "kube_node_spec_taint", (name, *words), 1.0
    for condition in status["conditions"]:
        for truth in _TRUTHS:
            held = float(truth == condition["status"].lower())
            yield "kube_node_status_condition", (name, condition["type"], truth), held
    amounts = [
        ("cpu", "core", node.allocatable_cpu_millicores / 1_000.0),
        ("memory", "byte", float(node.allocatable_memory_bytes)),
        ("pods", "integer", float(node.allocatable_pods)),
    ]
    if node.gpus:
        amounts.append(("nvidia_com_gpu", "integer", float(node.gpus)))
    for resource, unit, amount in amounts:
        yield "kube_node_status_capacity", (name, resource, unit), amount
        yield "kube_node_status_allocatable", (name, resource, unit), amount


NODES = ObjectFamilies("nodes", FAMILIES, _rows)
