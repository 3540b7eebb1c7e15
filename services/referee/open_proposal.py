"""A proposal as the referee holds it, and the order in which it reads them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.actions import Action, ActionKind, AdmissionAction
from schemas.agents import AgentManifest, action_label, agent_manifests, referee_place
from schemas.decision import Considered
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.proposal import FurtherAction
from schemas.reasons import Reason

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


class OpenProposal(DataModel):
    """One proposal of an open cycle."""

    considered: Considered
    """As it will stand in the decision."""
    action: Action
    profile: str
    further: tuple[FurtherAction, ...] = ()
    """What else its agent wants in this cycle."""

    @property
    def agent(self) -> AgentManifest | None:
        """Its agent; None where that agent is not installed here."""
        return agent_manifests().get(self.considered.agent)

    @property
    def preempts(self) -> bool:
        """Whether it wins over everything."""
        return self.agent is not None and self.action.full_kind in self.agent.preempts

    @property
    def protects(self) -> bool:
        """Whether it wins over what only saves."""
        return self.agent is not None and self.action.full_kind in self.agent.protects

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
        return isinstance(self.action, AdmissionAction) and self.action.admission == "admit"

    def touches(self, other: OpenProposal) -> bool:
        """Say whether both aim at the same node, queue or workload; pods behind them the executor compares."""
        return self.action.target == other.action.target

    @property
    def name(self) -> str:
        """Action and target, e.g. `AgentA:replicate on node-7`."""
        target = self.action.aim
        label = action_label(self.action)
        return f"{label} on {target}" if target else label

    @property
    def numbers(self) -> str:
        """The comparisons that decided, with their values.

        The agent's own sentence when none did.
        """
        words = self.considered.rule.split(" and ")
        decisive = [item.numbers for item in self.considered.evidence if item.words in words]
        return " and ".join(dict.fromkeys(decisive)) or self.considered.text


def open_proposal_of(event: Event[Any]) -> OpenProposal:
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
        effect=data.effect,
    )
    return OpenProposal(
        considered=considered, action=data.action, profile=data.profile, further=data.further
    )


def canonical(candidates: Iterable[OpenProposal]) -> tuple[OpenProposal, ...]:
    """Return candidates in the referee's order of agents (A, C, B), then falling score, then id.

    Whatever order they came in.
    """
    return tuple(
        sorted(
            candidates,
            key=lambda candidate: (
                referee_place(candidate.considered.agent),
                -candidate.considered.score,
                candidate.considered.id,
            ),
        )
    )


def highest_score(candidates: Iterable[OpenProposal]) -> OpenProposal | None:
    """Return the candidate with the highest score; ties go to the first in canonical order."""
    return max(
        canonical(candidates), key=lambda candidate: candidate.considered.score, default=None
    )
