"""Small clusters and objects for the engine's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.engine import Engine
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
Object = dict[str, Any]


@pytest.fixture
def engine() -> Engine:
    """A cluster of three nodes with 4 cores and 8 GiB each."""
    engine = Engine(seed=3)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 8 * GIB, 0, {}) for i in range(3)])
    return engine


@pytest.fixture
def pod() -> Callable[..., Object]:
    """Build a pod: pod(name, cpu, memory, limits=..., annotations=..., **spec)."""

    def build(
        name: str,
        cpu: str = "1",
        memory: str = "1Gi",
        *,
        limits: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        resources: Object = {"requests": {"cpu": cpu, "memory": memory}}
        if limits:
            resources["limits"] = limits
        container = {"name": "c", "image": "app:1", "resources": resources}
        metadata = {"name": name, "annotations": annotations or {}, "labels": labels or {}}
        return {"metadata": metadata, "spec": {"containers": [container], **spec}}

    return build


@pytest.fixture
def deployment() -> Callable[..., Object]:
    """Build a Deployment: deployment(name, replicas, image=..., cpu=...)."""

    def build(name: str, replicas: int, *, image: str = "app:1", cpu: str = "100m") -> Object:
        labels = {"app": name}
        resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
        spec = {"containers": [{"name": "c", "image": image, "resources": resources}]}
        return {
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }

    return build


@pytest.fixture
def arrival() -> Callable[..., WorkloadArrival]:
    """Build an arrival at time 0; every field can be given."""

    def build(name: str, **fields: Any) -> WorkloadArrival:
        defaults: dict[str, Any] = {
            "time_seconds": 0.0,
            "kind": "task",
            "cpu_request_millicores": 500,
            "memory_request_bytes": GIB,
            "gpus": 0,
            "cpu_usage_ratio": 0.5,
            "memory_usage_ratio": 0.5,
            "duration_seconds": 100.0,
            "outcome": "succeed",
        }
        return WorkloadArrival(name=name, **{**defaults, **fields})

    return build
