"""Settings of the agents: one group for all their processes, each reads its own part.

The group has one table of thresholds for each registered agent, so its model is made from the
registry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, create_model, model_validator

from schemas.actions import AgentName
from schemas.agents import BadRegistration, agent_names
from schemas.model import DataModel
from services.agents.learned_settings import LearnedPolicies
from services.agents.profiles import (
    FORECAST,
    FORESAIL,
    RANDOM,
    check_order,
    check_profile,
    model_thresholds,
    of_models,
    published_name,
)
from services.agents.registry import agents_by_name
from services.agents.thresholds import Thresholds
from services.agents.value_settings import ValueSettings


class CommonSettings(DataModel):
    """Thresholds, and how long an agent waits for what it needs.

    Raises:
        ConfigError: an unknown or unusable profile, or thresholds out of order.
    """

    profile: str = FORESAIL.name
    """Policy profile: `foresail` judges by expected value; `baseline-rules` has the predecessors' thresholds;
    `forecast` a trained model's; `random` proposes by chance, on simulated clusters alone.
    """
    risk_model: str = ""
    """Profile `forecast`: the model whose manifest holds agent A's thresholds, as a folder or the name
    of a shipped model. `foresail up` takes it from inference.model.
    """
    demand_model: str = ""
    """Profile `forecast`: the model whose manifest holds agent B's thresholds. Unset: the baseline's.

    `foresail up` takes it from inference.demand_model.
    """
    model_thresholds: dict[str, dict[str, float]] = {}
    """Profile `forecast`: thresholds by agent and field, as the models' manifests give them.

    Filled in from the two models; given directly where a recording is run again without them.
    """
    value: ValueSettings = ValueSettings()
    """Profile `foresail`: what expected values rest on. `foresail up` takes the prices from score."""
    random_seed: int = Field(default=0, ge=0)
    """Profile `random`: what its draws derive from. `foresail up` takes it from run.seed."""
    signal_limit_intervals: float = Field(default=3.0, gt=0)
    """Greatest age of a signal in intervals of the observation.

    Three tolerates two failed reads. A signal's own limit also holds.
    """
    learned: LearnedPolicies = LearnedPolicies()
    """Learned policies beside the agents' rules."""
    wall_interval_seconds: float = Field(default=5.0, gt=0)
    """Wall seconds between two cycles, as the collector paces them."""
    deadline_share_ratio: float = Field(default=0.35, gt=0, lt=1)
    """Share of the wall interval to wait for predictions.

    Smaller than the referee's share, so that the noop still counts.
    """

    @model_validator(mode="before")
    @classmethod
    def _fill_model_thresholds(cls, given: Any) -> Any:
        if not isinstance(given, dict) or given.get("profile") != FORECAST.name:
            return given
        models = (str(given.get(name) or "") for name in ("risk_model", "demand_model"))
        by_model = {**model_thresholds(*models), **(given.get("model_thresholds") or {})}
        of_models(by_model)
        filled = {
            agent: {**fields, **_given_thresholds(given.get(agent))}
            for agent, fields in by_model.items()
        }
        return {**given, "model_thresholds": by_model, **filled}

    @model_validator(mode="after")
    def _check_thresholds(self) -> Self:
        check_profile(self.profile, self.model_thresholds)
        for agent in agent_names():
            check_order(f"agents.{agent}", self.thresholds(agent))
        self.learned.check(agent_names(), self.profile)
        return self

    @property
    def draws(self) -> bool:
        """Whether proposals are drawn by chance."""
        return self.profile == RANDOM.name

    @property
    def by_value(self) -> bool:
        """Whether agents judge by expected value."""
        return self.profile == FORESAIL.name

    @property
    def deadline_seconds(self) -> float:
        """Wall seconds to wait for predictions."""
        return self.wall_interval_seconds * self.deadline_share_ratio

    def with_measured(self) -> Self:
        """Return the settings with the factors that were measured, as `ValueSettings.with_measured` does."""
        return self.model_copy(update={"value": self.value.with_measured()})

    def thresholds(self, agent: AgentName) -> Thresholds:
        """Return one agent's thresholds."""
        thresholds = getattr(self, agent)
        assert isinstance(thresholds, Thresholds)
        return thresholds

    def profile_of(self, agent: AgentName) -> str:
        """Return the profile's name as the agent's proposals carry it."""
        return published_name(self.profile, self.model_thresholds, (self.thresholds(agent),))

    def announcement(self, agent: AgentName) -> dict[str, Any]:
        """Return everything that can change a result of this agent."""
        return {
            "agent": agent,
            "profile": self.profile_of(agent),
            "thresholds": self.thresholds(agent).model_dump(mode="json"),
            **self._announced_thresholds(),
            "signal_limit_intervals": self.signal_limit_intervals,
            "deadline_seconds": self.deadline_seconds,
            **self.learned.announced(agent),
        }

    def _announced_thresholds(self) -> dict[str, Any]:
        """Return what only some profiles have: what the manifests say, whose folders stay out of the log, or
        the seed of what is drawn.
        """
        if self.draws:
            return {"random_seed": self.random_seed}
        if self.by_value:
            return {"value": self.value.model_dump(mode="json")}
        forecast = self.profile == FORECAST.name
        return {"model_thresholds": self.model_thresholds} if forecast else {}


def _settings_model() -> type[CommonSettings]:
    """Return the settings with a field for each agent.

    Raises:
        BadRegistration: an agent is called like a setting that all agents share.
    """
    fields: dict[str, Any] = {}
    for agent in agents_by_name().values():
        if agent.name in CommonSettings.model_fields:
            why = "it is a setting of all agents; use another name"
            raise BadRegistration(agent.name, "name", agent.name, why)
        about = f"Agent {agent.manifest.letter}'s thresholds; it {agent.manifest.purpose}."
        usual = agent.code.thresholds()
        fields[agent.name] = (type(usual), Field(usual, description=about))
    return create_model(
        "AgentSettings",
        __base__=CommonSettings,
        __doc__=CommonSettings.__doc__,
        __module__=__name__,
        **fields,
    )


if TYPE_CHECKING:
    AgentSettings = CommonSettings
else:
    AgentSettings = _settings_model()


def _given_thresholds(thresholds: Any) -> dict[str, Any]:
    """Return the thresholds that were given themselves, which win over a manifest's."""
    if isinstance(thresholds, Thresholds):
        return thresholds.model_dump(exclude_unset=True)
    return dict(thresholds or {})
