"""stale_decision: the world has moved on since an old decision."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards.question import Question, answer


def check(question: Question) -> GuardCheck:
    """Fail when the decision is older than the limit in cycles."""
    age = max(0, question.state.seen.cycle - question.due.cycle)
    limit = question.settings.stale_cycles
    text = "" if age <= limit else f"decided {age} cycles ago; the limit is {limit}"
    return answer(
        "stale_decision",
        passed=age <= limit,
        reason=Reason.STALE_DECISION,
        measured=age,
        limit=limit,
        unit="cycles",
        text=text,
    )
