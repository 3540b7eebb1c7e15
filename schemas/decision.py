"""Layer 5, decision: what is done in a cycle, why, what lost to it by which rule, who was missing.
Published by the referee: one event per cycle, with one part for each action.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from typing import ClassVar, Final

from pydantic import Field

from schemas.actions import Action, ActionKind, AgentName, Evidence, Target
from schemas.agents import letter_of
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
    WRITER: ClassVar[str] = "referee"
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

    def line(self) -> str:
        """Return cycle, rationale or why nothing is done, losers, and who did not propose."""
        return decision_line(self)


LEAST_FOLDED = 3
"""Actions alike beside the first that are not told one by one."""
RULES = {
    RefereeRule.NO_PROPOSALS: "nobody proposed anything",
    RefereeRule.ALL_NOOP: "nobody wants anything done",
    RefereeRule.HIGHEST_VALUE: "what is expected to gain most for an hour",
    RefereeRule.SAFETY_FIRST: "A's action goes before everything",
    RefereeRule.ADMISSION_PROTECTS: "C's protection goes before efficiency",
    RefereeRule.EFFICIENCY_BY_SCORE: "the efficiency action with the highest score",
    RefereeRule.SAFETY_BLIND: "A could not judge, so nothing but a plain admit may be done",
    RefereeRule.FIXED_ORDER: "A before C before B, then the higher score",
    RefereeRule.SUPERSEDED: "a newer observation was there first, so nothing is done",
}
"""Each rule in words."""


def is_noop(decision: Decision) -> bool:
    """Say whether a decision is to do nothing."""
    return decision.action.kind is ActionKind.NOOP


def noop_reason(decision: Decision) -> str:
    """Return why nothing is done: what the first agent saw, or else the referee's rule."""
    if decision.rule is RefereeRule.ALL_NOOP and decision.considered:
        return decision.considered[0].text
    return RULES[decision.rule]


def noop_text(decision: Decision) -> str:
    """Return one line of a decision to do nothing."""
    return f"cycle {decision.cycle:>4}  nothing to do: {noop_reason(decision)}"


def decision_line(decision: Decision, results: Sequence[str] = ()) -> str:
    """Return one decision as one line; `results` are what became of its parts (`OutcomeExecution.result`)."""
    losers = ", ".join(
        f"{letter_of(proposal.agent)} {proposal.kind}"
        for proposal in decision.considered
        if proposal.id not in decision.winners
    )
    letters = ", ".join(letter_of(agent) for agent in decision.missing)
    missing = f"; missing {letters}" if letters else ""
    if is_noop(decision):
        return f"{noop_text(decision)}{missing}"
    over = f"; over {losers}" if losers else ""
    done = "".join(f"; {text}" for text in counted_texts(results))
    return f"cycle {decision.cycle:>4}  {short_rationale(decision)}{over}{missing}{done}"


_WON = re.compile(r"(?P<wish>Agent\w+:\S+) on (?P<target>\S+).*")


def short_rationale(decision: Decision) -> str:
    """Return what won and why; of many alike that follow one another the first, and the names of some others."""
    told: list[str] = []
    for wish, alike in groupby(decision.rationale.split("; "), _wish):
        first, *others = alike
        told.append(first)
        if wish is None or len(others) < LEAST_FOLDED:
            told += others
            continue
        names = [found["target"].rstrip(":") for one in others if (found := _WON.fullmatch(one))]
        shown = ", ".join(names[:LEAST_FOLDED])
        dots = ", ..." if len(names) > LEAST_FOLDED else ""
        told.append(f"and on {len(names)} more ({shown}{dots})")
    return "; ".join(told)


def _wish(text: str) -> str | None:
    found = _WON.fullmatch(text)
    return None if found is None else found["wish"]


def counted_texts(texts: Sequence[str]) -> list[str]:
    """Return texts in order, those that are alike once, with how often they came."""
    return [
        text if times == 1 else f"{times} times {text}" for text, times in Counter(texts).items()
    ]
