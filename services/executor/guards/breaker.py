"""breaker: what did harm lately is not executed; on probation it is tried now and then."""

from __future__ import annotations

from collections.abc import Iterable

from projections.breaker.text import standing_text
from projections.standing import GIVES_BACK
from schemas.breaker import WHOLE, Breaker, BreakerState
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check
from services.executor.ledger import Execution


def check(question: Question) -> GuardCheck | None:
    """Fail while a breaker holds this kind, or everything; what gives back is never held."""
    planned = question.planned
    breakers = question.state.breakers_of(question.due.action.kind)
    if not breakers or planned is None or planned.direction in GIVES_BACK:
        return None
    answers = [_check_breaker(question, breaker) for breaker in breakers]
    return next((answer for answer in answers if not answer.passed), answers[0])


def _check_breaker(question: Question, breaker: Breaker) -> GuardCheck:
    text = standing_text(breaker)
    if breaker.state is BreakerState.SHADOW:
        return guard_check("breaker", passed=False, reason=Reason.BREAKER, text=text)
    tried = _tried_since(breaker, question.state.executions)
    if not tried:
        return guard_check("breaker", passed=True, reason=Reason.BREAKER, text=text)
    age = round(question.now_seconds - tried[-1].time_seconds, 6)
    return guard_check(
        "breaker",
        passed=age >= breaker.spacing_seconds,
        reason=Reason.BREAKER,
        measured=age,
        limit=breaker.spacing_seconds,
        unit="seconds",
        text=text,
    )


def _tried_since(breaker: Breaker, executions: Iterable[Execution]) -> tuple[Execution, ...]:
    """Return the executions of a breaker's unit since its state began, which probation counts."""
    return tuple(
        one
        for one in executions
        if breaker.unit in (WHOLE, one.action.kind)
        and one.direction not in GIVES_BACK
        and one.time_seconds >= breaker.since_seconds
    )


GUARDS = (Guard("breaker", Needs.PLAN, 6, check),)
