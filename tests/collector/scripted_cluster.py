"""A few Kubernetes objects as an API server writes them, answered in process; for cases that no
running cluster shows on demand (a source that fails, a garbled answer, a pod of an odd shape)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from schemas.envelope import rfc3339
from services.cluster import JSON
from tests.builders import START_SECONDS

GIB = 2**30
PATHS = {
    "nodes": "/api/v1/nodes",
    "pods": "/api/v1/pods",
    "deployments": "/apis/apps/v1/deployments",
    "jobs": "/apis/batch/v1/jobs",
    "autoscalers": "/apis/autoscaling/v2/horizontalpodautoscalers",
    "budgets": "/apis/policy/v1/poddisruptionbudgets",
    "services": "/api/v1/services",
    "statefulsets": "/apis/apps/v1/statefulsets",
    "node_metrics": "/apis/metrics.k8s.io/v1beta1/nodes",
    "pod_metrics": "/apis/metrics.k8s.io/v1beta1/pods",
}


def stamp(seconds: float) -> str:
    """Write a time as the API does: whole seconds."""
    return rfc3339(float(int(seconds)))[:19] + "Z"


def node(name: str, **changes: Any) -> dict[str, Any]:
    """Return a ready node of 10 cores and 32 GiB."""
    annotations = changes.get("annotations", {})
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": stamp(changes.get("created", START_SECONDS)),
            "labels": {"kubernetes.io/hostname": name, **changes.get("labels", {})},
            "annotations": annotations,
        },
        "spec": {
            "unschedulable": changes.get("unschedulable", False),
            **({"taints": changes["taints"]} if changes.get("taints") else {}),
        },
        "status": {
            "allocatable": {"cpu": "10", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "2"},
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if changes.get("ready", True) else "False",
                    "lastTransitionTime": stamp(changes.get("changed", START_SECONDS)),
                }
            ],
        },
    }


def pod(name: str, **changes: Any) -> dict[str, Any]:
    """Return a running, ready pod on n1 that requests 1 core and 1 GiB."""
    phase = changes.get("phase", "Running")
    bound = changes.get("node", "n1")
    ready = changes.get("ready", phase == "Running")
    at = stamp(changes.get("at", START_SECONDS))
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": at}]
    if bound:
        conditions.append({"type": "PodScheduled", "status": "True", "lastTransitionTime": at})
    elif "message" in changes:
        conditions.append(
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": changes.get("reason", "Unschedulable"),
                "message": changes["message"],
            }
        )
    owner = changes.get("owner")
    return {
        "metadata": {
            "name": name,
            "namespace": changes.get("namespace", "shop"),
            "uid": changes.get("uid", f"uid-{name}"),
            "creationTimestamp": stamp(changes.get("created", START_SECONDS)),
            "labels": changes.get("labels", {}),
            "annotations": changes.get("annotations", {}),
            "ownerReferences": [owner] if owner else [],
        },
        "spec": {
            "nodeName": bound,
            "containers": changes.get(
                "containers", [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
            ),
            "initContainers": changes.get("init", []),
            "overhead": changes.get("overhead", {}),
            **changes.get("spec", {}),
        },
        "status": {
            "phase": phase,
            "conditions": conditions,
            "containerStatuses": changes.get("statuses", []),
        },
    }


class ScriptedCluster:
    """Answers lists from `objects`; `failures` by source name answer with that status instead."""

    def __init__(self, **objects: list[dict[str, Any]]) -> None:
        """Begin at the start time with the given lists by source name."""
        self.objects = objects
        self.failures: dict[str, int] = {}
        self.garbled: set[str] = set()
        self.version = "v1.33.1"
        self.now = START_SECONDS
        self.requests: list[tuple[str, str]] = []

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = JSON,
    ) -> tuple[int, bytes]:
        """Answer one request."""
        del body, content_type
        self.requests.append((method, path))
        if path == "/version":
            return self._failed("version") or (200, _json({"gitVersion": self.version}))
        name = next(name for name, served in PATHS.items() if served == path)
        failed = self._failed(name)
        if failed is not None:
            return failed
        if name in self.garbled:
            return 200, b"<html>not an API</html>"
        return 200, _json(self._page(name, query))

    def _page(self, name: str, query: Mapping[str, str]) -> dict[str, Any]:
        items = self.objects.get(name, [])
        first = int(query.get("continue", "0"))
        size = int(query["limit"])
        more = str(first + size) if first + size < len(items) else ""
        metadata = {"resourceVersion": "7", "continue": more}
        return {"metadata": metadata, "items": items[first : first + size]}

    def _failed(self, name: str) -> tuple[int, bytes] | None:
        status = self.failures.get(name, self.failures.get("everything", 0))
        answer = {"reason": "Broken", "message": f"no {name} today", "code": status}
        return (status, _json(answer)) if status else None


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
