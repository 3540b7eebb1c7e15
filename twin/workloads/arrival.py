"""Machine shapes and arrivals: what a workload hands to the simulation engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class NodeShape:
    """One machine: allocatable cpu (millicores), memory (bytes), GPUs and labels."""

    name: str
    cpu_millicores: int
    memory_bytes: int
    gpus: int
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WorkloadArrival:
    """One service or task that appears at `time_seconds` after the start.

    `duration_seconds` is how long each pod runs before it comes to `outcome`: `succeed`, `fail`,
    or `run` (deleted while running then; with duration None it runs on). Usage ratios are of
    the request.
    """

    time_seconds: float
    name: str
    kind: Literal["service", "task"]
    cpu_request_millicores: int
    memory_request_bytes: int
    gpus: int
    cpu_usage_ratio: float
    memory_usage_ratio: float
    duration_seconds: float | None
    outcome: Literal["succeed", "fail", "run"]
    replicas: int = 1
    priority: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"
