"""Layer 5, decision: what is done in a cycle, why, what lost to it by which rule, who was missing.
Published by the referee: one event per cycle, with one part for each action.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import Field

from schemas.actions import Action, ActionKind, AgentName, Evidence, Target
from schemas.effect import Effect
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.proposal import ProposalStatus
from schemas.reasons import Reason


class ClosedBy(StrEnum):
    """How a cycle closed."""

    ALL = "all"
    """Every expected agent had proposed."""
    DEADLINE = "deadline"
    SUPERSEDED = "superseded"
    """A newer observation arrived first."""
    RESTART = "restart"
    """The referee came back and closed it from the log."""


class RefereeRule(StrEnum):
    """The referee's rules, in the order in which they are tried."""

    NO_PROPOSALS = "no_proposals"
    ALL_NOOP = "all_noop"
    HIGHEST_VALUE = "highest_value"
    """Of what is expected to gain in the outcome score, the most for an hour wins (profile `foresail`)."""
    SAFETY_FIRST = "safety_first"
    """A preempting action (A's migrate, replicate or throttle) wins over everything."""
    ADMISSION_PROTECTS = "admission_protects"
    """A protecting action (C's resource_cap, queue, reject or deprioritize) wins over efficiency."""
    EFFICIENCY_BY_SCORE = "efficiency_by_score"
    """The efficiency action with the highest score wins."""
    SAFETY_BLIND = "safety_blind"
    """Agent A could not judge and nothing but a plain admit is left: nothing is done (not in the
    seed, where A always saw).
    """
    FIXED_ORDER = "fixed_order"
    """The fixed order of agents (A, C, B) among what is wanted (no noop), then the higher score."""
    SUPERSEDED = "superseded"
    """A newer observation was there before the cycle was closed: nothing is done for it."""


class Override(DataModel):
    """Why a proposal was not taken: the rule and the numbers that beat it."""

    rule: RefereeRule
    by: AgentName | None
    """Who won; None when nobody did."""
    text: str
    winner_score: Rounded | None = None
    loser_score: Rounded | None = None
    winner_priority: int | None = None
    loser_priority: int | None = None


class Considered(DataModel):
    """A proposal as the referee read it."""

    id: str
    agent: AgentName
    status: ProposalStatus
    kind: ActionKind
    target: Target
    score: Rounded
    priority: int
    rule: str
    text: str
    reason: Reason | None = None
    evidence: tuple[Evidence, ...] = ()
    effect: Effect | None = None
    """What it was expected to change; None where its profile judges by thresholds."""


MOST_PARTS: Final = 16
"""Actions of one decision: more than the guard rails let happen in one cycle."""


class DecisionPart(DataModel):
    """One of a decision's actions; it is executed, verified and taken back by itself."""

    action: Action
    selected: str | None
    """Id of the winning proposal, whose first or further wish this is; None for the referee's own noop."""
    score: Rounded
    effect: Effect | None = None
    """What the action is expected to change; None where its profile judges by thresholds."""


class Decision(EventData):
    """The actions of a cycle and the whole argument behind them."""

    TYPE: ClassVar[str] = "foresail.decision.v2"
    PRODUCER: ClassVar[str] = "referee"
    PATTERN: ClassVar[tuple[str, ...]] = ("decision",)

    cycle: Cycle
    cluster_time_seconds: Seconds
    """Cluster time of the observation that was judged."""
    observation_id: str
    closed_by: ClosedBy
    parts: tuple[DecisionPart, ...] = Field(min_length=1, max_length=MOST_PARTS)
    """What is done, in this order; no two touch the same node, queue or workload. A noop stands alone."""
    rule: RefereeRule
    rationale: str
    """One sentence: what won and why."""
    considered: tuple[Considered, ...]
    """Every proposal judged, in canonical order: the referee's order of agents, then score, then id."""
    overridden: dict[str, Override]
    """By agent: what lost and why. Every considered proposal is either selected by a part or in here."""
    missing: tuple[AgentName, ...]
    """Expected agents without a proposal."""
    reason: Reason | None = None
    """Why it is a noop."""
    repeat_count: Count
    """How many decisions in a row, this one included, have the same actions and targets."""
    profile: str

    @property
    def action(self) -> Action:
        """The first part's action, for those who can show only one."""
        return self.parts[0].action

    @property
    def selected(self) -> str | None:
        """The proposal that the first part selects."""
        return self.parts[0].selected

    @property
    def score(self) -> float:
        """The first part's score."""
        return self.parts[0].score

    @property
    def actions(self) -> tuple[Action, ...]:
        """Every part's action, in order."""
        return tuple(part.action for part in self.parts)

    @property
    def winners(self) -> frozenset[str]:
        """Ids of the proposals that parts select."""
        return frozenset(part.selected for part in self.parts if part.selected is not None)

    @property
    def wants(self) -> bool:
        """Whether anything is to be done."""
        return any(action.kind is not ActionKind.NOOP for action in self.actions)
