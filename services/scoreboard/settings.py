"""Settings of the scoreboard."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.model import DataModel
from services.scoreboard.rewards import SCALE, Weights


class ScoreboardSettings(DataModel):
    """How rewards are weighted, when they are read and how much waits at once."""

    alpha: float = Field(default=1.0, ge=0)
    """Weight of the safety agent's reward in the total; the seed's value."""
    beta: float = Field(default=0.6, ge=0)
    """Weight of the efficiency agent's reward; the seed's value."""
    gamma: float = Field(default=0.8, ge=0)
    """Weight of the admission agent's reward; the seed's value."""
    settle_cycles: int = Field(default=1, ge=1)
    """Cycles from a decision to the observation that pays it.

    1: the next observation is the first that can show an effect.
    """
    late_cycles: int = Field(default=2, ge=0)
    """Cycles that this observation may be late before the decision counts as not observed."""
    keep_cycles: int = Field(default=100, ge=1)
    """Cycles kept of each kind that waits; older ones are given up.

    100 rewards owed after an outage are about 0.2 MB, so that a checkpoint stays below the 1 MB of
    a message.
    """
    forecast_targets: int = Field(default=400, ge=1)
    """Nodes scored per prediction.

    In a larger cluster an evenly spaced sample of the sorted names, so that the predictions in
    waiting still fit a checkpoint.
    """

    forecast_cycles: int = Field(default=25, ge=1)
    """Predictions of one model that wait for their horizon at once; of a model that looks further
    ahead than so many cycles every n-th is scored.
    """

    @property
    def weights(self) -> Weights:
        """The three weights together."""
        return Weights(self.alpha, self.beta, self.gamma)

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result."""
        return {**self.model_dump(mode="json"), "scale": SCALE}
