"""replay: decisions of a replayed log are executed only on a twin that was started for them."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail on a replayed log unless the settings allow it."""
    passed = not question.state.replayed or question.settings.execute_replays
    text = "" if passed else "this log is a replay; nothing is executed from it"
    return guard_check("replay", passed=passed, reason=Reason.REPLAYED_LOG, text=text)


GUARDS = (Guard("replay", Needs.LOG, 10, check),)
