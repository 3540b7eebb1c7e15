"""Clusters that play a scenario."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from twin.engine import Engine
from twin.faults import read_scenario
from twin.workloads.arrival import NodeShape, WorkloadArrival

GIB = 2**30
EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"
Play = Callable[..., Engine]


def cluster(seed: int = 7, *, nodes: int = 6, services: int = 6, tasks: int = 0) -> Engine:
    """Build a cluster of small nodes with services that run for good and tasks of ten minutes."""
    engine = Engine(seed=seed)
    shapes = [
        NodeShape(f"n{i}", 8_000, 16 * GIB, 0, {"zone": "a" if i < 3 else "b"})
        for i in range(nodes)
    ]
    engine.add_nodes(shapes)
    engine.load(iter([arrival(i, service=i < services) for i in range(services + tasks)]))
    return engine


def arrival(number: int, *, service: bool) -> WorkloadArrival:
    """Return a service of two pods, or a task of ten minutes."""
    return WorkloadArrival(
        time_seconds=float(number),
        name=f"{'service' if service else 'task'}-{number}",
        kind="service" if service else "task",
        cpu_request_millicores=500,
        memory_request_bytes=GIB,
        gpus=0,
        cpu_usage_ratio=0.4,
        memory_usage_ratio=0.5,
        duration_seconds=None if service else 600.0,
        outcome="run" if service else "succeed",
        replicas=2 if service else 1,
    )


@pytest.fixture
def play() -> Play:
    """Build a cluster that plays a shipped scenario: play("node-death", tasks=3)."""

    def built(name: str, **sizes: int) -> Engine:
        engine = cluster(**sizes)
        engine.faults.play(read_scenario(EXAMPLES / f"{name}.yaml"))
        return engine

    return built
