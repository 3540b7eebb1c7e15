"""Thresholds of the admission agent; the defaults are the baseline's numbers exactly."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from services.agents.thresholds import Thresholds


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
