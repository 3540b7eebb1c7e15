"""Thresholds of the example agent: one number per rule, with its unit in the name."""

from __future__ import annotations

from pydantic import Field

from services.agents.thresholds import Thresholds


class UnhealthyThresholds(Thresholds):
    """Agent D: what a node must reach."""

    unhealthy_pods: int = Field(default=1, ge=0)
    """Unhealthy pods from which the node is throttled; 0: always."""
    cpu_cap_ratio: float = Field(default=0.85, gt=0, le=1)
    """Share of the node's CPU that throttle leaves."""
