"""Thresholds of the efficiency agent; the defaults are the baseline's numbers exactly."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from services.agents.thresholds import Thresholds


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
