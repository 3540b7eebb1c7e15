"""taken_back: what was decided before the operator wanted everything taken back is not begun any more."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail for a decision of a cycle up to the one of `undo --all`; nothing to say where nobody wanted that."""
    until = question.state.undo_until
    if until is None or question.due.cycle > until:
        return None
    text = f"the operator wanted everything up to cycle {until} taken back"
    return guard_check("taken_back", passed=False, reason=Reason.TAKEN_BACK, text=text)


GUARDS = (Guard("taken_back", Needs.LOG, 15, check),)
