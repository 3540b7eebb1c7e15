"""Small clusters as an API server gives them, for explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.explanations.frozen_cluster import FrozenCluster
from twin.records import PodRecord

Object = dict[str, Any]
NOW = 1_800_000_000.0


def node(
    name: str,
    cpu: str = "4",
    memory: str = "8Gi",
    *,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """Return a node."""
    amounts = {"cpu": cpu, "memory": memory, "pods": "110"}
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "labels": {"kubernetes.io/hostname": name, **(labels or {})},
        },
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(
    name: str,
    cpu: str = "1",
    memory: str = "1Gi",
    *,
    labels: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Object:
    """Return a pod of the namespace `shop`, with the defaults of an API server."""
    requests = {"cpu": cpu, "memory": memory}
    container = {"name": "c", "image": "a:1", "resources": {"requests": requests}}
    return {
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": name,
            "labels": dict(labels or {}),
            "creationTimestamp": "2027-01-15T07:59:00Z",
        },
        "spec": {
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "schedulerName": "default-scheduler",
            "priority": 0,
            "preemptionPolicy": "PreemptLowerPriority",
            **spec,
        },
        "status": {"phase": "Running" if spec.get("nodeName") else "Pending", **(status or {})},
    }


def frozen(nodes: list[Object], pods: list[Object], **others: list[Object]) -> FrozenCluster:
    """Return the copy of a cluster."""
    return FrozenCluster({"nodes": nodes, "pods": pods, **others}, NOW)


def the(cluster: FrozenCluster, name: str) -> PodRecord:
    """Return a pod of the namespace `shop`."""
    found = cluster.pod("shop", name)
    assert found is not None
    return found
