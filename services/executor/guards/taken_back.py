"""taken_back: what was decided before the operator wanted everything taken back is not begun any more, and nothing
while a phase of the exerciser is given back.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail for a decision of a cycle up to the one of `undo --all`, and while the exerciser gives back; nothing to say
    where nobody wanted that.
    """
    until, cycle = question.state.undo_until, question.due.cycle
    if question.state.in_exercise(cycle):
        text = "it was decided by the load of a phase that the exerciser has ended"
    elif until is not None and cycle <= until:
        text = f"the operator wanted everything up to cycle {until} taken back"
    else:
        return None
    return guard_check("taken_back", passed=False, reason=Reason.TAKEN_BACK, text=text)


GUARDS = (Guard("taken_back", Needs.LOG, 15, check),)
