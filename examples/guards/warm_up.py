"""warm_up: nothing is executed before the stack has observed a few cycles.

An example of a guard in one file: copied to `services/executor/guards/warm_up.py` it is asked for every
decision, its answers are in the log, and `foresail explain` shows them.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check

CYCLES = 3


def check(question: Question) -> GuardCheck:
    """Fail before `CYCLES` cycles have been observed."""
    seen = question.state.seen.cycle
    passed = seen >= CYCLES
    text = "" if passed else f"cycle {seen} is too early; the first action may come in {CYCLES}"
    return guard_check(
        "warm_up",
        passed=passed,
        reason=Reason.GUARD_REFUSED,
        measured=seen,
        limit=CYCLES,
        unit="cycles",
        text=text,
    )


GUARDS = (Guard("warm_up", Needs.LOG, 25, check),)
