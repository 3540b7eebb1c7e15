"""Small clusters and pods for the tests of behaviours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.engine import Engine
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

GIB = 2**30
Object = dict[str, Any]


@pytest.fixture
def build() -> Callable[..., Engine]:
    """Build a cluster of nodes with 4 cores and 8 GiB: build(nodes=1, seed=3, **settings)."""

    def made(nodes: int = 1, seed: int = 3, **settings: Any) -> Engine:
        engine = Engine(TwinConfig(**settings), seed=seed)
        engine.add_nodes([NodeShape(f"n{i}", 4_000, 8 * GIB, 0, {}) for i in range(nodes)])
        return engine

    return made


@pytest.fixture
def create() -> Callable[..., PodRecord]:
    """Create a pod: create(engine, name, cpu, memory, limits=, notes=, container=, **spec)."""

    def made(
        engine: Engine,
        name: str,
        cpu: str = "1",
        memory: str = "1Gi",
        *,
        limits: dict[str, str] | None = None,
        notes: dict[str, str] | None = None,
        container: Object | None = None,
        **spec: Any,
    ) -> PodRecord:
        requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
        resources: Object = {"requests": requests, **({"limits": limits} if limits else {})}
        one = {"name": "c", "image": "app:1", "resources": resources, **(container or {})}
        metadata = {"name": name, "annotations": notes or {}}
        obj = {"metadata": metadata, "spec": {"containers": [one], **spec}}
        engine.store.create("pods", "default", obj)
        record = engine.store.record("pods", "default", name)
        assert isinstance(record, PodRecord)
        return record

    return made
