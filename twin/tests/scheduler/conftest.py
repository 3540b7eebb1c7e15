"""Small clusters and pods for the scheduler's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from twin.workloads.arrival import NodeShape

if TYPE_CHECKING:
    from twin.engine import Engine

GIB = 2**30
Object = dict[str, Any]


@pytest.fixture
def engine() -> Engine:
    """A cluster of three nodes with 4 cores and 8 GiB each."""
    from twin.engine import Engine

    engine = Engine(seed=3)
    engine.add_nodes([NodeShape(f"n{i}", 4_000, 8 * GIB, 0, {}) for i in range(3)])
    return engine


@pytest.fixture
def pod() -> Callable[..., Object]:
    """Build a pod: pod(name, cpu, memory, labels=..., **spec)."""

    def build(
        name: str,
        cpu: str = "1",
        memory: str = "1Gi",
        *,
        labels: dict[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        resources: Object = {"requests": {"cpu": cpu, "memory": memory}}
        container = {"name": "c", "image": "app:1", "resources": resources}
        metadata = {"name": name, "labels": labels or {}}
        return {"metadata": metadata, "spec": {"containers": [container], **spec}}

    return build
