"""ping_pong: no action undoes a recent one on the same target, or moves the same workload again,
unless severity has risen.
"""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check
from services.executor.ledger import Execution
from services.executor.plans.planned import OPPOSITE


def check(question: Question) -> GuardCheck:
    """Fail when a recent execution would be undone at no higher score."""
    planned, limit = question.planned, question.settings.ping_pong_seconds
    if planned is None:
        return guard_check("ping_pong", passed=True, reason=Reason.PING_PONG)
    undone = [execution for execution in question.recent(limit) if _undoes(question, execution)]
    weaker = [execution for execution in undone if question.due.score <= execution.score]
    if not weaker:
        return guard_check(
            "ping_pong", passed=True, reason=Reason.PING_PONG, limit=limit, unit="seconds"
        )
    newest = weaker[-1]
    age = round(question.now_seconds - newest.time_seconds, 6)
    text = (
        f"would undo {newest.action.kind} of cycle {newest.cycle}, {age:g} s ago, "
        f"at score {question.due.score:g}, not above {newest.score:g}"
    )
    return guard_check(
        "ping_pong",
        passed=False,
        reason=Reason.PING_PONG,
        measured=age,
        limit=limit,
        unit="seconds",
        text=text,
    )


def _undoes(question: Question, execution: Execution) -> bool:
    planned = question.planned
    if planned is None or execution.rolled_back:
        return False
    if planned.direction == "move":
        same_workload = not set(planned.workloads).isdisjoint(execution.workloads)
        return execution.direction == "move" and same_workload
    same_target = execution.action.target == question.due.action.target
    return same_target and OPPOSITE.get(planned.direction) == execution.direction


GUARDS = (Guard("ping_pong", Needs.PLAN, 70, check),)
