"""Thresholds of the three policies, as data.

The defaults are the seed's numbers exactly (seed-systems 1.b.4).
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.model import DataModel


class Thresholds(DataModel):
    """What all thresholds share: which of them must be in order."""

    DESCENDING: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Chains of fields, each strictly greater than the next.

    Otherwise a rule could never be reached.
    """
    ASCENDING: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Chains of fields, each strictly smaller than the next."""


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


class EfficiencyThresholds(Thresholds):
    """Agent B: what the lowest demand must stay below."""

    ASCENDING: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("sleep_demand_ratio", "dvfs_demand_ratio", "balloon_demand_ratio"),
    )

    sleep_demand_ratio: float = Field(default=0.12, ge=0, le=1)
    """Demand below which the node is sent to sleep."""
    dvfs_demand_ratio: float = Field(default=0.30, ge=0, le=1)
    """Demand below which the node's clock is lowered."""
    balloon_demand_ratio: float = Field(default=0.45, ge=0, le=1)
    """Demand below which memory is reclaimed."""
    clock_scale_ratio: float = Field(default=0.65, gt=0, le=1)
    """Share of the full clock that dvfs sets."""
    memory_scale_ratio: float = Field(default=0.75, gt=0, le=1)
    """Share of the memory that memory_balloon leaves."""


class AdmissionThresholds(Thresholds):
    """Agent C: what the queue and the load of the nodes must reach."""

    DESCENDING: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("cap_queue_length", "deprioritize_queue_length", "hold_queue_length"),
    )

    cap_queue_length: int = Field(default=120, ge=0)
    """Pending pods from which the fullest node is capped."""
    deprioritize_queue_length: int = Field(default=80, ge=0)
    """Pending pods from which new work is deprioritised."""
    hold_queue_length: int = Field(default=8, ge=0)
    """Pending pods from which new work is held in the queue."""
    calm_queue_length: int = Field(default=20, ge=0)
    """Below this many pending pods, and no node overloaded, admitting is certain (score 1.0)."""
    overload_ratio: float = Field(default=0.85, ge=0)
    """CPU or memory above which a node counts as overloaded."""
    overload_share_ratio: float = Field(default=0.5, gt=0, le=1)
    """Share of overloaded nodes from which the fullest node is capped."""
    cpu_cap_ratio: float = Field(default=0.85, gt=0, le=1)
    """Share of the node's CPU that resource_cap leaves."""
    memory_cap_ratio: float = Field(default=0.85, gt=0, le=1)
    """Share of the node's memory that resource_cap leaves."""
