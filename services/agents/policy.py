"""A policy: a pure function from what an agent may know to its judgement.

A policy sees the full observation, the prediction it asked for and its thresholds. It never sees a clock, the bus or
its own past, so a recording can be judged again, and again under other thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from schemas.actions import Action, Evidence, NoopAction, Target, TargetKind
from schemas.effect import Effect
from schemas.model import DataModel
from schemas.proposal import ForecastGround, FurtherAction, UntouchedDraw
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agents.thresholds import Thresholds

T = TypeVar("T", bound=Thresholds)

QUEUE = Target(kind=TargetKind.QUEUE, name="pending")


class NodePrediction(DataModel):
    """The prediction of one cycle as an agent keeps it: one ratio per node."""

    id: str
    """Id of the event."""
    cycle: int
    model_id: str
    reason: Reason | None = None
    """Set when inference skipped the cycle."""
    ids: tuple[str, ...] = ()
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """Judgement of an agent on one observation."""

    action: Action
    """What is wanted; without an agent, whose name is filled in later."""
    score: float
    """How strongly the agent wants it, 0 to 1."""
    evidence: tuple[Evidence, ...]
    """Every comparison made, in order."""
    decisive: tuple[Evidence, ...]
    """The comparisons that decided; empty when no threshold was crossed."""
    text: str
    """One sentence for people."""
    reason: Reason | None = None
    """Why nothing is wanted."""
    effect: Effect | None = None
    """What the action is expected to change, where the policy judges by expected value."""
    forecast: ForecastGround | None = None
    """The forecast that it rests on."""
    further: tuple[FurtherAction, ...] = ()
    untouched: UntouchedDraw | None = None
    """What else is wanted, best first, and which targets are left untouched."""

    @property
    def rule(self) -> str:
        """The thresholds that decided, in words."""
        return " and ".join(item.words for item in self.decisive)


Judge = Callable[[ObservationView, NodePrediction, T], Judgement]
"""(observation, prediction, thresholds) -> judgement."""
Choices = Callable[[str, T], Sequence[Action]]
"""(a node's name, thresholds) -> every action that the agent may want, those on a node on this one."""


def noop(
    reason: Reason,
    text: str,
    *,
    score: float = 0.0,
    evidence: Sequence[Evidence] = (),
    decisive: Sequence[Evidence] = (),
) -> Judgement:
    """Return the judgement that nothing is wanted."""
    return Judgement(
        action=NoopAction(),
        score=score,
        evidence=tuple(evidence),
        decisive=tuple(decisive),
        text=text,
        reason=reason,
    )


def node(name: str) -> Target:
    """Return a node as target."""
    return Target(kind=TargetKind.NODE, name=name)
