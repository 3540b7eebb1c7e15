"""kill_switch: nothing is executed while the operator says so; asked again before each single
operation.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Question, Stage, guard_check


def check(question: Question) -> GuardCheck:
    """Fail while killed or paused."""
    state = question.state
    reason = Reason.KILL_SWITCH if state.killed else Reason.PAUSED
    text = (
        "the operator stopped execution; `foresail resume` takes it back"
        if state.killed or state.paused
        else ""
    )
    return guard_check(
        "kill_switch", passed=not (state.killed or state.paused), reason=reason, text=text
    )


GUARDS = (Guard("kill_switch", Stage.BEFORE_READING, 20, check),)
