"""Settings of the referee."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.model import DataModel
from schemas.view import OPEN_LIMIT


class RefereeSettings(DataModel):
    """How long the referee waits for proposals."""

    wall_interval_seconds: float = Field(default=5.0, gt=0)
    """Wall seconds between two cycles, as the collector paces them."""
    deadline_share_ratio: float = Field(default=0.6, gt=0, lt=1)
    """Share of the wall interval to wait for proposals.

    Greater than the agents' share (0.35), so that their noop arrives in time, and below 1, so that
    the executor can act before the next observation.
    """

    @property
    def deadline_seconds(self) -> float:
        """Wall seconds to wait for proposals."""
        return self.wall_interval_seconds * self.deadline_share_ratio

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result."""
        return {"deadline_seconds": self.deadline_seconds, "open_limit": OPEN_LIMIT}
