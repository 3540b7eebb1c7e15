"""Small objects and paths of the flows."""

from __future__ import annotations

from typing import Any

from twin.tests.contract.flows import Flow

Object = dict[str, Any]

NS = "/api/v1/namespaces/{}"
CM, POD, SVC = f"{NS}/configmaps", f"{NS}/pods", f"{NS}/services"
SECRETS = f"{NS}/secrets"  # of which no controller puts one into each namespace
DEP = "/apis/apps/v1/namespaces/{}/deployments"
HPAS = "/apis/autoscaling/v1/namespaces/{}/horizontalpodautoscalers"
EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
PROTOBUF = "application/vnd.kubernetes.protobuf"
CONTAINER: Object = {"name": "c", "image": "i:1"}
TEMPLATE: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR: Object = {"matchLabels": {"a": "b"}}
TASK: Object = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}


def flow(name: str, *steps: tuple[Any, ...], seen: tuple[str, ...] = ()) -> Flow:
    """Return a flow of steps; `seen` are the parts that are compared."""
    return Flow(name, steps, seen)


def config_map(name: str = "a", **metadata: Any) -> Object:
    """Return a ConfigMap as an applier writes it."""
    whole = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": whole, "data": {"k": "v"}}


def secret(name: str = "a") -> Object:
    """Return an empty Secret."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


def deployment(name: str = "web", **spec: Any) -> Object:
    """Return a Deployment of no pods."""
    base = {"replicas": 0, "selector": SELECTOR, "template": TEMPLATE, **spec}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": base}


def pod(
    name: str = "p", container: Object | None = None, annotations: Object | None = None, **spec: Any
) -> Object:
    """Return a Pod that nobody schedules."""
    base = {"schedulerName": "nobody", "containers": [{**CONTAINER, **(container or {})}], **spec}
    metadata: Object = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": base}


def scale(replicas: int, **metadata: Any) -> Object:
    """Return a Scale of the Deployment `web`."""
    named = {"name": "web", **metadata}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": named,
        "spec": {"replicas": replicas},
    }


def service(name: str = "s", annotations: Object | None = None, **spec: Any) -> Object:
    """Return a Service."""
    metadata: Object = {"name": name, **({"annotations": annotations} if annotations else {})}
    return {"metadata": metadata, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}], **spec}}
