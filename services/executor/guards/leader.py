"""leader: on a cluster of the user's own, what does not hold the Lease begins nothing."""

from __future__ import annotations

from schemas.actions import ActionKind
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guard_discovery import Guard, Stage
from services.executor.question import Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail while another executor holds the Lease, or this one could not renew it."""
    lead = question.lead
    if lead is None or question.due.action.kind is ActionKind.NOOP:
        return None
    reason = lead.reason or Reason.NOT_LEADER
    return guard_check("leader", passed=lead.leading, reason=reason, text=lead.text)


GUARDS = (Guard("leader", Stage.BEFORE_READING, 12, check),)
