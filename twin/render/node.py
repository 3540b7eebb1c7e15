"""One node as JSON."""

from __future__ import annotations

from inputs.quantities import cpu_text, memory_text
from twin.kinds import KUBERNETES_VERSION
from twin.records import NodeRecord, Object
from twin.render.metadata import render_metadata
from twin.timestamps import rfc3339

_READY = {
    "True": ("KubeletReady", "kubelet is posting ready status"),
    "False": ("KubeletNotReady", "the kubelet is not ready"),
    "Unknown": ("NodeStatusUnknown", "Kubelet stopped posting node status."),
}


def render_node(node: NodeRecord) -> Object:
    """Return a core/v1 Node."""
    said = node.said or {}
    spec: Object = {"providerID": said.get("providerID", f"foresail://{node.name}")}
    if node.taints:
        spec["taints"] = list(node.taints)
    if node.unschedulable:
        spec["unschedulable"] = True
    amounts = {
        "cpu": cpu_text(node.allocatable_cpu_millicores),
        "memory": memory_text(node.allocatable_memory_bytes),
        "pods": str(node.allocatable_pods),
        **({"nvidia.com/gpu": str(node.gpus)} if node.gpus else {}),
        **{name: _whole_text(name, amount) for name, amount in node.extended.items()},
    }
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": render_metadata(node),
        "spec": spec,
        "status": {
            "capacity": {**amounts, **said.get("capacity", {})},
            "allocatable": amounts,
            "conditions": _conditions(node),
            "addresses": [
                {"type": "InternalIP", "address": node.internal_ip},
                {"type": "Hostname", "address": node.name},
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": _info(node),
            "images": [{"names": [name], "sizeBytes": size} for name, size in node.images],
        },
    }


def _whole_text(resource: str, amount: int) -> str:
    """Return bytes of storage in binary units, devices as they are."""
    sized = resource == "ephemeral-storage" or resource.startswith("hugepages-")
    return memory_text(amount) if sized else str(amount)


def _conditions(node: NodeRecord) -> list[Object]:
    unknown = node.ready_status == "Unknown"
    pressure = ("MemoryPressure", node.memory_pressure, "KubeletHasInsufficientMemory")
    rows = (
        (*pressure, "KubeletHasSufficientMemory"),
        ("DiskPressure", False, "", "KubeletHasNoDiskPressure"),
        ("PIDPressure", False, "", "KubeletHasSufficientPID"),
    )
    conditions = [
        {
            "type": kind,
            "status": "Unknown" if unknown else str(bad),
            "lastHeartbeatTime": rfc3339(node.heartbeat_at or node.created_at),
            "lastTransitionTime": rfc3339(node.ready_since or node.created_at),
            "reason": "NodeStatusUnknown" if unknown else (when_bad if bad else when_good),
            "message": _READY["Unknown"][1] if unknown else "",
        }
        for kind, bad, when_bad, when_good in rows
    ]
    reason, message = _READY[node.ready_status]
    conditions.append(
        {
            "type": "Ready",
            "status": node.ready_status,
            "lastHeartbeatTime": rfc3339(node.heartbeat_at or node.created_at),
            "lastTransitionTime": rfc3339(node.ready_since or node.created_at),
            "reason": reason,
            "message": message,
        }
    )
    return [*conditions, *node.conditions] if node.conditions else conditions


def _info(node: NodeRecord) -> Object:
    return {
        "machineID": node.uid.replace("-", ""),
        "systemUUID": node.uid,
        "bootID": node.uid,
        "kernelVersion": "simulated",
        "osImage": "Foresail embedded cluster",
        "containerRuntimeVersion": "simulated://1",
        "kubeletVersion": KUBERNETES_VERSION,
        "kubeProxyVersion": KUBERNETES_VERSION,
        "operatingSystem": "linux",
        "architecture": "amd64",
    }
