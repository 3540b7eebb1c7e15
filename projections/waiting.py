"""What waits for a person, by the log alone: asked, answered, or settled since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from projections.figures import duration
from projections.score.text import effect_text
from schemas.approval import Answer, ControlApproval, OutcomeApproval
from schemas.decision import Decision
from schemas.effect import Effect
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution

KEPT_EFFECTS = 64
"""Newest decisions whose expected effects are known when one of them is asked for."""


@dataclass(frozen=True, slots=True)
class WaitingAction:
    """One part of a decision that waits."""

    cycle: int
    part: int
    decision_id: str
    request_id: str
    text: str
    """What would be written, in a line."""
    since_seconds: float
    """Cluster time at which it was asked for."""
    expires_seconds: float
    effect: Effect | None = None
    """What it is expected to change; None where it was judged by thresholds, or is not known."""
    answer: Answer | None = None
    """What a person said, until the executor has acted on it."""

    @property
    def name(self) -> str:
        """How `foresail approve` names it: the cycle, and the part unless it is the first."""
        return f"{self.cycle}.{self.part}" if self.part else str(self.cycle)

    def expected_text(self) -> str:
        """Return what it is expected to change; empty where nobody says."""
        return "" if self.effect is None else effect_text(self.effect)

    def line(self, now_seconds: float) -> str:
        """Return it in one line for people, with its age and how long it may still be approved."""
        age, left = now_seconds - self.since_seconds, self.expires_seconds - now_seconds
        if self.answer is not None:
            state = f"answered: {self.answer}"
        elif left <= 0.0:
            state = "its time is over"
        else:
            state = f"waits {duration(max(0.0, age))}, expires in {duration(left)}"
        return f"{self.name} {self.text} ({state})"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Everything that waits, oldest first."""

    actions: tuple[WaitingAction, ...] = ()
    now_seconds: float = 0.0
    """Cluster time of the newest observation or request."""
    effects: tuple[tuple[str, tuple[Effect | None, ...]], ...] = ()
    """Of the newest decisions, by id, the effect of each part."""

    def after(self, event: Event[Any]) -> Waiting:
        """Return what waits after one event; most events change nothing."""
        match event.data:
            case Observation() as seen if self.actions:
                return replace(self, now_seconds=max(self.now_seconds, seen.cluster_time_seconds))
            case Decision() as decision if any(part.effect for part in decision.parts):
                own = event.id, tuple(part.effect for part in decision.parts)
                return replace(self, effects=(*self.effects, own)[-KEPT_EFFECTS:])
            case OutcomeApproval() as asked:
                return self._after_request(event.id, asked)
            case ControlApproval() as said:
                return self._after_answer(said)
            case OutcomeExecution(rollback_of="") as execution if self.actions:
                place = execution.cycle, execution.part
                left = tuple(one for one in self.actions if (one.cycle, one.part) != place)
                return replace(self, actions=left)
            case _:
                return self

    def lines(self) -> list[str]:
        """Return one line for each that waits."""
        return [one.line(self.now_seconds) for one in self.actions]

    def _after_request(self, request_id: str, asked: OutcomeApproval) -> Waiting:
        effects = dict(self.effects).get(asked.decision_id, ())
        new = WaitingAction(
            cycle=asked.cycle,
            part=asked.part,
            decision_id=asked.decision_id,
            request_id=request_id,
            text=asked.text,
            since_seconds=asked.cluster_time_seconds,
            expires_seconds=asked.expires_time_seconds,
            effect=effects[asked.part] if asked.part < len(effects) else None,
        )
        others = tuple(
            one for one in self.actions if (one.cycle, one.part) != (asked.cycle, asked.part)
        )
        now = max(self.now_seconds, asked.cluster_time_seconds)
        return replace(self, actions=(*others, new), now_seconds=now)

    def _after_answer(self, said: ControlApproval) -> Waiting:
        return replace(
            self,
            actions=tuple(
                replace(one, answer=said.answer)
                if one.request_id == said.request_id
                and one.answer is None
                and self.now_seconds < one.expires_seconds
                else one
                for one in self.actions
            ),
        )
