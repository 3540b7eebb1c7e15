"""Thresholds of the safety agent; the defaults are the baseline's numbers exactly."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from services.agents.thresholds import Thresholds


class SafetyThresholds(Thresholds):
    """Agent A: what the highest risk must reach."""

    DESCENDING: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("replicate_risk_ratio", "migrate_risk_ratio", "throttle_risk_ratio"),
    )

    replicate_risk_ratio: float = Field(default=0.83, ge=0, le=1)
    """Risk from which the node's workloads get replicas elsewhere."""
    migrate_risk_ratio: float = Field(default=0.70, ge=0, le=1)
    """Risk from which pods are moved away."""
    throttle_risk_ratio: float = Field(default=0.50, ge=0, le=1)
    """Risk from which the node's CPU is capped."""
    gate_load_ratio: float = Field(default=0.72, ge=0)
    """Throttle gate: the load that a node must have to be throttled while others suffer.

    Others suffer when there are SLA violations or a long queue.
    """
    gate_queue_length: int = Field(default=80, ge=0)
    """Throttle gate: a queue from this length counts as long."""
    throttle_cpu_cap_ratio: float = Field(default=0.85, gt=0, le=1)
    """Share of the node's CPU that throttle leaves."""
