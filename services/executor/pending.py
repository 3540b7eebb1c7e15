"""Decisions that are not carried out yet: due, or waiting for a person. Pure, and part of the ledger."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from schemas.actions import Action
from schemas.approval import Answer, ControlApproval, OutcomeApproval
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded, Seconds
from schemas.outcome import Operation

MOST_WAITING = 50
"""Decisions that wait for a person at a time."""
Place = tuple[Cycle, Count]
"""A cycle, and the part of its decision."""


class PendingDecision(DataModel):
    """A part of a decision without an execution."""

    cycle: Cycle
    part: Count = 0
    decision_id: str
    observation_id: str
    action: Action
    score: Rounded
    cluster_time_seconds: Seconds

    @property
    def place(self) -> Place:
        """Its cycle and part."""
        return self.cycle, self.part

    @property
    def name(self) -> str:
        """How people name it: the cycle, and the part unless it is the first."""
        return f"{self.cycle}.{self.part}" if self.part else str(self.cycle)

    @property
    def approved_cycle(self) -> Cycle | None:
        """The newest cycle when a person approved it; None: nobody was asked."""
        return None


class WaitingDecision(PendingDecision):
    """One that waits for `foresail approve`, or was answered a moment ago."""

    request_id: str
    """Id of the event that asks."""
    operations: tuple[Operation, ...]
    """What was shown, and nothing else may be written."""
    expires_time_seconds: Seconds
    answer: Answer | None = None
    answered_cycle: Cycle | None = Field(default=None, exclude_if=lambda cycle: cycle is None)
    note: str = ""
    """What was said with the answer."""

    @property
    def approved_cycle(self) -> Cycle | None:
        """The newest cycle when it was approved."""
        return self.answered_cycle if self.answer is Answer.APPROVE else None

    def is_settled(self, now_seconds: float) -> bool:
        """Say whether it was answered, or its time is over."""
        return self.answer is not None or now_seconds >= self.expires_time_seconds


def waiting_after_request(
    waiting: Iterable[WaitingDecision],
    due: PendingDecision | None,
    request_id: str,
    data: OutcomeApproval,
) -> tuple[WaitingDecision, ...]:
    """Return what waits after one more has begun to; `due` is the decision as it stood."""
    others = tuple(one for one in waiting if one.place != (data.cycle, data.part))
    new = WaitingDecision(
        cycle=data.cycle,
        part=data.part,
        decision_id=data.decision_id,
        observation_id="" if due is None else due.observation_id,
        action=data.action,
        score=0.0 if due is None else due.score,
        cluster_time_seconds=data.cluster_time_seconds,
        request_id=request_id,
        operations=data.operations,
        expires_time_seconds=data.expires_time_seconds,
    )
    return (*others, new)


def waiting_after_answer(
    waiting: Iterable[WaitingDecision], data: ControlApproval, cycle: Cycle, now_seconds: float
) -> tuple[WaitingDecision, ...]:
    """Return what waits after an answer; the first one that comes in time counts."""
    update = {"answer": data.answer, "answered_cycle": cycle, "note": data.text}
    return tuple(
        one.model_copy(update=update)
        if one.request_id == data.request_id and not one.is_settled(now_seconds)
        else one
        for one in waiting
    )
