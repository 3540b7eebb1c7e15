"""empty_machine: a machine is not ended once a pod has arrived on it since its node was found empty."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail when pods would end with the machine; the plan itself is made for empty nodes alone."""
    left = () if question.write is None else question.write.pods_left
    if not left:
        return None
    return guard_check(
        "empty_machine",
        passed=False,
        reason=Reason.NODE_NOT_EMPTY,
        measured=len(left),
        limit=0,
        unit="pods",
        text=f"{left[0]} and {len(left) - 1} more pods are on {question.due.action.target.name}",
    )


GUARDS = (Guard("empty_machine", Needs.REACH, 70, check, each_write=True),)
