"""kill_switch: nothing is executed while the operator says so; a pause lets a plan that is begun go on to its end."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail while killed, or paused before anything is begun."""
    state, text = question.state, ""
    if state.killed or (state.paused and question.write is None):
        text = "the operator stopped execution; `foresail resume` takes it back"
    reason = Reason.KILL_SWITCH if state.killed else Reason.PAUSED
    if text and question.write is not None:
        text = "the kill switch came on"
    return guard_check("kill_switch", passed=not text, reason=reason, text=text)


GUARDS = (Guard("kill_switch", Needs.LOG, 20, check, each_write=True),)
