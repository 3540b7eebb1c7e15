"""stale_decision: the world has moved on since an old decision, or a newer one waits already.

Asked before each write too: the event `started` may have waited through an outage until the log took it.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail when the decision is older than the limit in cycles; what takes back is never too old."""
    cycle, seen, write = question.due.cycle, question.state.seen.cycle, question.write
    if write is not None and write.takes_back:
        return None
    age, limit = max(0, seen - cycle), question.settings.stale_cycles
    text = "" if age <= limit else f"decided {age} cycles ago; the limit is {limit}"
    if text and write is not None:
        text = f"cycle {seen} was observed before this could be written"
    newest = max((pending.cycle for pending in question.state.due), default=cycle)
    if newest > cycle and write is None:
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


GUARDS = (Guard("stale_decision", Needs.LOG, 30, check, each_write=True),)
