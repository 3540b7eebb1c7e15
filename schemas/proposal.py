"""Layer 4, proposal: what each agent wants, including noop, or skipped with the reason. One process
per agent.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from schemas.actions import Action, AgentName, Evidence
from schemas.effect import Effect
from schemas.figures import score
from schemas.model import EVERY_AGENT, DataModel, EventData
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.reasons import Reason


class ProposalStatus(StrEnum):
    """Status of an agent's answer."""

    PROPOSED = "proposed"
    NOOP = "noop"
    """Judged, and nothing wanted, or nothing could be judged (the reason says which)."""
    SKIPPED = "skipped"
    """Not judged at all: a newer cycle had begun."""


class ForecastGround(DataModel):
    """The forecast that an action rests on, and what would be wanted without it."""

    prediction_ids: tuple[str, ...]
    """Ids of the events: the bands, and what a replica bears where inference has said it."""
    series: str
    model: str
    """Model and version that spoke, or the simple rule."""
    made_seconds: Seconds
    """Cluster time of the forecast."""
    horizon_seconds: Seconds
    """Of the band that asked for most, of those that new replicas can still serve."""
    low: Rounded
    """Requests a second; one value in ten is expected below,"""
    middle: Rounded
    high: Rounded
    """and one above."""
    replica_rate: Rounded
    """Requests a second that one replica bears within the objective."""
    lead_seconds: Seconds
    """From a decision until a new replica is ready, as it was taken to be."""
    chance_before: Ratio
    """That the objective is violated with the replicas of now,"""
    chance_after: Ratio
    """and with those that are wanted."""
    without_replicas: Count | None = None
    """Replicas that would be wanted without the forecast; None: nothing would be."""


class FurtherAction(DataModel):
    """A further action that an agent wants in the same cycle, should there be room for it."""

    action: Action
    score: Rounded
    rule: str
    evidence: tuple[Evidence, ...] = ()
    effect: Effect
    text: str
    forecast: ForecastGround | None = Field(default=None, exclude_if=lambda ground: ground is None)
    """The forecast that it rests on, where it does."""


class LeftUntouched(DataModel):
    """An action that was wanted and is not proposed, because its target is left untouched."""

    action: Action
    effect: Effect
    text: str


class UntouchedDraw(DataModel):
    """Which of the wanted actions are left, by a draw that anybody can repeat."""

    seed: Count
    ratio: Ratio
    """Propensity of each eligible target to be left."""
    epoch: Count
    """Number of the epoch; a target is left, or not, for the whole of it."""
    ends_seconds: Seconds
    """Cluster time at which the epoch ends."""
    eligible: tuple[str, ...] = ()
    """Names of the targets of what is proposed that could have been left, best first."""
    left: tuple[LeftUntouched, ...] = ()
    """What is left, best first."""


class Proposal(EventData):
    """One agent's wish for one cycle."""

    TYPE: ClassVar[str] = "foresail.proposal.v1"
    WRITER: ClassVar[str] = EVERY_AGENT
    PATTERN: ClassVar[tuple[str, ...]] = ("proposal", "*")

    cycle: Cycle
    cluster_time_seconds: Seconds
    agent: AgentName
    status: ProposalStatus
    action: Action
    score: Rounded
    """How strongly the agent wants it, 0 to 1; what it means is the agent's (risk, 1 - demand, pressure). With an
    `effect`: its money for an hour, which all agents share.
    """
    priority: int
    """The agent's place in the referee's fixed order: 1 safety, 2 admission, 3 efficiency, then others."""
    profile: str
    """The policy profile whose thresholds were used."""
    rule: str
    """The threshold that decided, in words, e.g. `risk >= 0.83`."""
    evidence: tuple[Evidence, ...] = ()
    """Numbers against thresholds, in the order in which the rules were tried."""
    reason: Reason | None = None
    """Why nothing was proposed."""
    text: str
    """One sentence for people."""
    effect: Effect | None = None
    """What the action is expected to change; None where the profile judges by thresholds."""
    further: tuple[FurtherAction, ...] = ()
    """What else it wants in this cycle, best first; every one gains by its own estimate."""
    forecast: ForecastGround | None = Field(default=None, exclude_if=lambda ground: ground is None)
    """The forecast that the action rests on, where it does."""
    prediction_overdue: bool = Field(default=False, exclude_if=lambda overdue: not overdue)
    """Whether the prediction of this cycle did not come in time for a judgement that asked for one."""
    left_out_models: tuple[str, ...] = Field(default=(), exclude_if=lambda models: not models)
    """Models whose forecasts were left out, since they are back in shadow (`foresail.outcome.foresight.v1`)."""
    untouched: UntouchedDraw | None = None
    """Which targets are left untouched; None where nothing was eligible, or nothing is ever left."""

    def tokens(self) -> tuple[str, ...]:
        """Return `proposal.<agent>`."""
        return ("proposal", self.agent)

    def key(self) -> str:
        """Return the agent."""
        return self.agent

    def line(self) -> str:
        """Return what is wanted, how strongly and why."""
        without = ", ".join(self.left_out_models)
        told = f" (without the forecast of {without}, which is back in shadow)" if without else ""
        return f"{self.action.wanted} {score(self.score)}: {self.text}{told}"
