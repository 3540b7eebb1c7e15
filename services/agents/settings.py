"""Settings of the agents: one group for all three processes, each reads its own part."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from schemas.actions import Agent
from schemas.model import Part
from services.agents.profiles import check_order, check_profile, published_name
from services.agents.thresholds import (
    AdmissionThresholds,
    EfficiencyThresholds,
    SafetyThresholds,
    Thresholds,
)


class AgentSettings(Part):
    """Thresholds, and how long an agent waits for what it needs.

    Raises:
        ConfigError: an unknown or unusable profile, or thresholds out of order.
    """

    profile: str = "seed"
    """Policy profile: `seed`; `forecast` needs a trained model."""
    safety: SafetyThresholds = SafetyThresholds()
    """Agent A's thresholds; defaults are the seed's."""
    efficiency: EfficiencyThresholds = EfficiencyThresholds()
    """Agent B's thresholds; defaults are the seed's."""
    admission: AdmissionThresholds = AdmissionThresholds()
    """Agent C's thresholds; defaults are the seed's."""
    signal_limit_intervals: float = Field(default=3.0, gt=0)
    """Greatest age of a signal in intervals of the observation.

    Three tolerates two failed reads. A signal's own limit also holds.
    """
    wall_interval_seconds: float = Field(default=5.0, gt=0)
    """Wall seconds between two cycles, as the collector paces them."""
    deadline_share_ratio: float = Field(default=0.35, gt=0, lt=1)
    """Share of the wall interval to wait for predictions.

    Smaller than the referee's share, so that the noop still counts.
    """

    @model_validator(mode="after")
    def _usable(self) -> Self:
        check_profile(self.profile)
        for agent in Agent:
            check_order(f"agents.{agent}", self.thresholds(agent))
        return self

    @property
    def deadline_seconds(self) -> float:
        """Wall seconds to wait for predictions."""
        return self.wall_interval_seconds * self.deadline_share_ratio

    def thresholds(self, agent: Agent) -> Thresholds:
        """Return one agent's thresholds."""
        return {
            Agent.SAFETY: self.safety,
            Agent.EFFICIENCY: self.efficiency,
            Agent.ADMISSION: self.admission,
        }[agent]

    def profile_of(self, agent: Agent) -> str:
        """Return the profile's name as the agent's proposals carry it."""
        return published_name(self.profile, (self.thresholds(agent),))

    def announcement(self, agent: Agent) -> dict[str, Any]:
        """Return everything that can change a result of this agent."""
        return {
            "agent": agent.value,
            "profile": self.profile_of(agent),
            "thresholds": self.thresholds(agent).model_dump(mode="json"),
            "signal_limit_intervals": self.signal_limit_intervals,
            "deadline_seconds": self.deadline_seconds,
        }
