"""A cluster as scenarios see it: requests and answers, nothing else."""

from __future__ import annotations

from typing import Any, Protocol

Object = dict[str, Any]
JSON = "application/json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_GROUPS = {
    "configmaps": "/api/v1",
    "events": "/api/v1",
    "nodes": "/api/v1",
    "pods": "/api/v1",
    "deployments": "/apis/apps/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "horizontalpodautoscalers": "/apis/autoscaling/v2",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "leases": "/apis/coordination.k8s.io/v1",
    "nodepools": "/apis/karpenter.sh/v1",
    "nodeclaims": "/apis/karpenter.sh/v1",
    "kwoknodeclasses": "/apis/karpenter.kwok.sh/v1alpha1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}
_WITHOUT_NAMESPACE = frozenset(
    (
        "nodes",
        "priorityclasses",
        "nodepools",
        "nodeclaims",
        "kwoknodeclasses",
        "customresourcedefinitions",
    )
)


class Cluster(Protocol):
    """Answers requests of the Kubernetes API."""

    def request(
        self, method: str, path: str, body: Object | None = None, content_type: str = JSON
    ) -> tuple[int, Object]:
        """Send one request; return its HTTP status and answer."""
        ...


def path_of(
    resource: str, name: str = "", subresource: str = "", namespace: str = "default"
) -> str:
    """Return the path of a collection, an object or a subresource."""
    inside = [] if resource in _WITHOUT_NAMESPACE else ["namespaces", namespace]
    parts = [_GROUPS[resource], *inside, resource, name, subresource]
    return "/".join(part for part in parts if part)


def ask(
    cluster: Cluster, method: str, path: str, body: Object | None = None, content_type: str = JSON
) -> Object:
    """Send one request that must succeed; raises RuntimeError with the answer's message."""
    status, answer = cluster.request(method, path, body, content_type)
    if status >= 300:
        raise RuntimeError(f"{method} {path}: {status} {answer.get('message', answer)}")
    return answer


def items(cluster: Cluster, resource: str, namespace: str = "default") -> list[Object]:
    """Return all objects of a kind in a namespace."""
    return list(ask(cluster, "GET", path_of(resource, namespace=namespace)).get("items") or ())
