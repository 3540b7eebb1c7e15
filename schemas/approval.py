"""Waiting for a person: what the executor would write, and the answer of who may only approve or deny."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from schemas.actions import Action
from schemas.model import EventData
from schemas.numbers import Count, Cycle, Seconds
from schemas.outcome import GuardCheck, Operation
from schemas.reasons import Reason


class OutcomeApproval(EventData):
    """A part of a decision that passed every guard waits for an approval; nothing of it is written before."""

    TYPE: ClassVar[str] = "foresail.outcome.approval.v1"
    PRODUCER: ClassVar[str] = "executor"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "approval")

    cycle: Cycle
    cluster_time_seconds: Seconds
    decision_id: str
    action: Action
    operations: tuple[Operation, ...]
    """What would be written; after an approval that and nothing else."""
    expires_time_seconds: Seconds
    """Cluster time from which it is refused."""
    guards: tuple[GuardCheck, ...] = ()
    reason: Reason = Reason.AWAITING_APPROVAL
    text: str
    part: Count = 0
    """Which part of the decision, from 0."""

    def key(self) -> str:
        """Return the part; empty for the first."""
        return str(self.part) if self.part else ""


class Answer(StrEnum):
    """What can be said of something that waits."""

    APPROVE = "approve"
    DENY = "deny"


class ControlApproval(EventData):
    """An answer, by an identity that may publish nothing else."""

    TYPE: ClassVar[str] = "foresail.control.approval.v1"
    PRODUCER: ClassVar[str] = "approver"
    PATTERN: ClassVar[tuple[str, ...]] = ("control", "approval")

    answer: Answer
    request_id: str
    """Id of the `outcome.approval` that it is about."""
    cycle: Cycle
    """Of the decision."""
    part: Count = 0
    nonce: str
    """Makes two equal answers two events."""
    wall_time_seconds: Seconds
    """The approver's own clock."""
    text: str = ""

    def key(self) -> str:
        """Return the nonce."""
        return self.nonce
