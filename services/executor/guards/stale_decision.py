"""stale_decision: the world has moved on since an old decision, or a newer one waits already."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Question, Stage, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when the decision is older than the limit in cycles."""
    age = max(0, question.state.seen.cycle - question.due.cycle)
    limit = question.settings.stale_cycles
    newest = max((pending.cycle for pending in question.state.due), default=question.due.cycle)
    text = "" if age <= limit else f"decided {age} cycles ago; the limit is {limit}"
    if newest > question.due.cycle:
        text = f"the decision of cycle {newest} waits already; only the newest is executed"
    return guard_check(
        "stale_decision",
        passed=not text,
        reason=Reason.STALE_DECISION,
        measured=age,
        limit=limit,
        unit="cycles",
        text=text,
    )


GUARDS = (Guard("stale_decision", Stage.BEFORE_READING, 30, check),)
