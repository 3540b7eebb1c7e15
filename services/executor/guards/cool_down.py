"""cool_down: the same kind of action in the same direction does not hit the same target again too
soon, and nothing does for a while after a failure. The opposite direction is for ping_pong.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check
from services.executor.ledger import Execution


def check(question: Question) -> GuardCheck:
    """Fail while the same kind on the same target is cooling down."""
    limit = question.settings.cool_down_seconds
    same = [
        execution
        for execution in question.on_target(question.recent(limit))
        if execution.action.kind is question.due.action.kind
        and (question.planned is None or execution.direction == question.planned.direction)
    ]
    return _check_waited("cool_down", question, same, limit, Reason.COOL_DOWN)


def check_after_failure(question: Question) -> GuardCheck:
    """Fail while the target recovers from a failed execution."""
    limit = question.settings.cool_down_after_failure_seconds
    failed = [
        execution
        for execution in question.on_target(question.recent(limit))
        if execution.succeeded is False
    ]
    return _check_waited(
        "cool_down_after_failure", question, failed, limit, Reason.COOL_DOWN_AFTER_FAILURE
    )


def _check_waited(
    guard: str, question: Question, executions: list[Execution], limit: float, reason: Reason
) -> GuardCheck:
    if not executions:
        return guard_check(guard, passed=True, reason=reason, limit=limit, unit="seconds")
    newest = executions[-1].action
    age = round(question.now_seconds - executions[-1].time_seconds, 6)
    text = f"{newest.kind} on {newest.target.name or 'the queue'} {age:g} s ago; wait {limit:g} s"
    return guard_check(
        guard, passed=False, reason=reason, measured=age, limit=limit, unit="seconds", text=text
    )


GUARDS = (
    Guard("cool_down", Needs.PLAN, 10, check),
    Guard("cool_down_after_failure", Needs.PLAN, 20, check_after_failure),
)
