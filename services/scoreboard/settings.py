"""Settings of the scoreboard."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from bus.errors import ConfigError
from projections.breaker.settings import OFF as OFF_BREAKER
from projections.breaker.settings import BreakerSettings
from projections.demotion.settings import ForesightSettings
from projections.mismatch.settings import MismatchSettings
from projections.promotion.settings import OFF as OFF_PROMOTION
from projections.promotion.settings import PromotionSettings
from projections.score.prices import ScorePrices
from projections.switchback.schedule import OFF, SwitchbackSettings
from schemas.actions import AgentName
from schemas.agents import agent_manifests, agent_names
from schemas.model import DataModel
from schemas.upcast import WEIGHT_NAMES
from services.scoreboard.rewards import Weights, scale_of


def _registered_weights() -> dict[AgentName, float]:
    return {agent.name: agent.reward_weight for agent in agent_manifests().values()}


class ScoreboardSettings(DataModel):
    """How rewards are weighted, when they are read and how much waits at once."""

    weights: dict[AgentName, float] = Field(default_factory=_registered_weights)
    """Weight of each agent's reward in the total; an agent that is not named is not rewarded."""
    alpha: float | None = Field(default=None, ge=0)
    """Weight of the safety agent's reward; the older name of its entry in `weights`, and wins."""
    beta: float | None = Field(default=None, ge=0)
    """Weight of the efficiency agent's reward, likewise."""
    gamma: float | None = Field(default=None, ge=0)
    """Weight of the admission agent's reward, likewise."""
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

    score: ScorePrices | None = Field(default_factory=ScorePrices)
    """Prices of the outcome score, which `score.*` sets; without them there is none."""
    switchback: SwitchbackSettings = OFF
    """Blocks by which the effect of acting is estimated; `switchback.*` sets them."""
    mark_horizons: float = Field(default=1.0, ge=0)
    """How many of its horizons after an execution a prediction of the same node is still marked as uncertain, since
    what was done is still at work in the whole of its window; 0: only predictions that waited when it was done.
    """
    breaker: BreakerSettings = OFF_BREAKER
    """When acting stops by itself; `breaker.*` sets it."""
    promotion: PromotionSettings = OFF_PROMOTION
    """When a shadow model of risk drives by itself; `promotion.*` sets it."""
    foresight: ForesightSettings = ForesightSettings()
    """How acting on forecasts of demand is judged; `foresight.*` sets it."""
    mismatch: MismatchSettings = MismatchSettings()
    """When things that belong together do not fit; `mismatch.*` sets it."""
    forecast_cycles: int = Field(default=25, ge=1)
    """Predictions of one model that wait for their horizon at once; of a model that looks further
    ahead than so many cycles every n-th is scored.
    """

    @model_validator(mode="after")
    def _check_weights(self) -> Self:
        for name, weight in self.weights.items():
            field = f"scoreboard.weights.{name}"
            if name not in agent_names():
                raise ConfigError(field, weight, f"use one of {', '.join(agent_names())}")
            if not weight >= 0:
                raise ConfigError(field, weight, "set it to 0 or more")
        return self

    @property
    def reward_weights(self) -> Weights:
        """The weight of every rewarded agent, by letter; the older names are in it."""
        older = {agent: getattr(self, name) for agent, name in WEIGHT_NAMES.items()}
        weights = {
            **self.weights,
            **{name: weight for name, weight in older.items() if weight is not None},
        }
        return {name: weights[name] for name in agent_names() if name in weights}

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result."""
        weights = self.reward_weights
        hidden = {"weights", *WEIGHT_NAMES.values()}
        if not self.switchback.enabled:
            hidden.add("switchback")
        if not self.breaker.enabled:
            hidden.add("breaker")
        if not self.promotion.enabled:
            hidden.add("promotion")
        if not self.foresight.enabled:
            hidden.add("foresight")
        if not self.mismatch.enabled:
            hidden.add("mismatch")
        settings = self.model_dump(mode="json", exclude=hidden)
        return {"weights": dict(weights), **settings, "scale": scale_of(weights)}
