"""stale_decision: the world has moved on since an old decision, or a newer one waits already."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guard_discovery import Guard, Stage
from services.executor.question import Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when the decision, or a person's approval of it, is older than the limit in cycles."""
    due = question.due
    approved = due.approved_cycle
    age = max(0, question.state.seen.cycle - (due.cycle if approved is None else approved))
    limit = question.settings.stale_cycles
    newest = max((pending.cycle for pending in question.state.due), default=due.cycle)
    word = "decided" if approved is None else "approved"
    text = "" if age <= limit else f"{word} {age} cycles ago; the limit is {limit}"
    if newest > due.cycle and approved is None:
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
