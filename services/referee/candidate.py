"""A proposal as the referee holds it, and the order in which it reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.actions import Action, ActionKind, Agent
from schemas.decision import Considered
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.reasons import Reason

ORDER = {Agent.SAFETY: 1, Agent.ADMISSION: 2, Agent.EFFICIENCY: 3}
"""The seed's fixed order: A before C before B."""

UNJUDGED = frozenset(
    {
        Reason.PREDICTION_MISSING,
        Reason.PREDICTION_SKIPPED,
        Reason.STALE_SIGNAL,
        Reason.MISSING_SIGNAL,
        Reason.SUPERSEDED,
    }
)
"""Reasons of a noop whose agent could not look, as against one that looked and wants nothing."""


class Candidate(DataModel):
    """One proposal of an open cycle."""

    considered: Considered
    """As it will stand in the decision."""
    action: Action
    profile: str

    @property
    def wants(self) -> bool:
        """Whether it asks for anything to be done."""
        return self.considered.kind is not ActionKind.NOOP

    @property
    def blind(self) -> bool:
        """Whether its agent could not judge."""
        return not self.wants and self.considered.reason in UNJUDGED

    @property
    def admits(self) -> bool:
        """Whether it is a plain admit: nothing is to be held back or changed."""
        return self.action.parameters.admission == "admit"

    @property
    def name(self) -> str:
        """Action and target, e.g. `AgentA:replicate on node-7`."""
        target = self.action.target.name
        return f"{self.action.label} on {target}" if target else self.action.label

    @property
    def numbers(self) -> str:
        """The comparisons that decided, with their values.

        The agent's own sentence when none did.
        """
        words = self.considered.rule.split(" and ")
        decisive = [item.numbers for item in self.considered.evidence if item.words in words]
        return " and ".join(dict.fromkeys(decisive)) or self.considered.text


def candidate_of(event: Event[Any]) -> Candidate:
    """Return a stored proposal as a candidate."""
    data = event.data
    considered = Considered(
        id=event.id,
        agent=data.agent,
        status=data.status,
        kind=data.action.kind,
        target=data.action.target,
        score=data.score,
        priority=data.priority,
        rule=data.rule,
        text=data.text,
        reason=data.reason,
        evidence=data.evidence,
    )
    return Candidate(considered=considered, action=data.action, profile=data.profile)


def canonical(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return candidates in the order A, C, B, then falling score, then id.

    Whatever order they came in.
    """
    return tuple(
        sorted(
            candidates,
            key=lambda one: (ORDER[one.considered.agent], -one.considered.score, one.considered.id),
        )
    )


def highest_score(candidates: Iterable[Candidate]) -> Candidate | None:
    """Return the candidate with the highest score; ties go to the first in canonical order."""
    return max(canonical(candidates), key=lambda one: one.considered.score, default=None)
