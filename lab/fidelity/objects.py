"""The objects that a scenario's steps ask for; the same on either side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.fidelity.cluster import Object

IMAGE = "registry.example/app"
VERSION = "fidelity/version"


def node(row: Mapping[str, Any]) -> Object:
    """Return a Node of a scenario's own."""
    labels = {"kubernetes.io/hostname": row["name"], **row.get("labels", {})}
    amounts = {"cpu": str(row["cpu"]), "memory": f"{row['memory_gib']}Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["name"], "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod_spec(step: Mapping[str, Any], app: str, version: str) -> Object:
    """Return the pod spec that a step describes."""
    requests = {"cpu": step["cpu"], "memory": step.get("memory", "64Mi")}
    resources: Object = {"requests": requests}
    if "limits" in step:
        resources["limits"] = dict(step["limits"])
    container = {"name": "app", "image": f"{IMAGE}:{version}", "resources": resources}
    spec: Object = {"containers": [container], **step.get("spec", {})}
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": app}}}
    if step.get("apart"):
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": rule}
    if "gone_after" in step:  # instead of the 300 s that admission adds
        spec["tolerations"] = [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute",
             "tolerationSeconds": step["gone_after"]}
            for key in ("not-ready", "unreachable")
        ]  # fmt: skip
    return spec


def pod(step: Mapping[str, Any], name: str) -> Object:
    """Return a bare Pod."""
    metadata: Object = {"name": name, "labels": {"app": step["pod"]}}
    if "annotations" in step:
        metadata["annotations"] = dict(step["annotations"])
    spec = pod_spec(step, step["pod"], "1")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def deployment(step: Mapping[str, Any]) -> Object:
    """Return a Deployment, at version 1."""
    name = step["deployment"]
    metadata: Object = {"labels": {"app": name, VERSION: "1"}}
    if "annotations" in step:
        metadata["annotations"] = dict(step["annotations"])
    spec: Object = {
        "replicas": step["replicas"],
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": metadata, "spec": pod_spec(step, name, "1")},
    }
    if "strategy" in step:
        spec["strategy"] = {"type": "RollingUpdate", "rollingUpdate": dict(step["strategy"])}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def new_version(version: str) -> Object:
    """Return the strategic merge patch that rolls a Deployment out anew."""
    container = {"name": "app", "image": f"{IMAGE}:{version}"}
    template = {"metadata": {"labels": {VERSION: version}}, "spec": {"containers": [container]}}
    return {"spec": {"template": template}}


def budget(step: Mapping[str, Any]) -> Object:
    """Return a PodDisruptionBudget."""
    selector = {"matchLabels": {"app": step["app"]}}
    spec = {"minAvailable": step["min_available"], "selector": selector}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return {**kind, "metadata": {"name": step["budget"]}, "spec": spec}


def priority_class(step: Mapping[str, Any]) -> Object:
    """Return a PriorityClass."""
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    return {**kind, "metadata": {"name": step["priority_class"]}, "value": step["value"]}


def eviction(name: str) -> Object:
    """Return an Eviction."""
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}


def autoscaler(step: Mapping[str, Any]) -> Object:
    """Return a HorizontalPodAutoscaler on CPU."""
    name = step["autoscaler"]
    target = {"type": "Utilization", "averageUtilization": step["percent"]}
    spec = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
        "minReplicas": step["min"],
        "maxReplicas": step["max"],
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
    }
    if "behavior" in step:
        spec["behavior"] = dict(step["behavior"])
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return {**kind, "metadata": {"name": name}, "spec": spec}
