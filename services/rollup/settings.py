"""Settings of the roll-up."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.model import DataModel


class RollupSettings(DataModel):
    """Days summed up in a log of their own, which outlives the main log's age limit."""

    when: Literal["auto", "on", "off"] = "auto"
    """on: each day is summed up; auto: on a cluster of yours, not on a simulated one."""
    update_seconds: float = Field(default=600.0, ge=0.2, le=86_400)
    """Wall time between two sums of a day that goes on: so much a killed machine can cost its sum."""
