"""budget: how many nodes may be disrupted within a window, in Karpenter's words; the strictest
budget counts.
"""

from __future__ import annotations

from datetime import UTC, datetime

from schemas.actions import TargetKind
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check
from services.executor.plans.migrate import MARKS
from services.executor.settings import DisruptionBudget

HARMLESS = frozenset({"on", MARKS})
"""Directions that take no pod and no capacity away."""


def check(question: Question) -> GuardCheck:
    """Fail when a budget that covers this kind is used up."""
    action = question.due.action
    if question.planned is not None and question.planned.direction in HARMLESS:
        text = "waking or marking disrupts nothing"
        return guard_check("budget", passed=True, reason=Reason.BUDGET_EXHAUSTED, text=text)
    covering = [
        budget
        for budget in question.settings.budgets_in_force
        if action.kind in budget.reasons and schedule_applies(budget.schedule, question.now_seconds)
    ]
    if not covering or action.target.kind is not TargetKind.NODE:
        return guard_check(
            "budget", passed=True, reason=Reason.BUDGET_EXHAUSTED, text="no budget covers this"
        )
    checks = [_check_budget(question, budget) for budget in covering]
    return next((check for check in checks if not check.passed), checks[0])


def schedule_applies(schedule: str, now_seconds: float) -> bool:
    """Say whether a schedule `HH:MM-HH:MM` (UTC) covers a moment; an empty one always does."""
    if not schedule:
        return True
    begin, end = schedule.split("-")
    clock = datetime.fromtimestamp(now_seconds, UTC).strftime("%H:%M")
    return begin <= clock < end if begin <= end else clock >= begin or clock < end


def _check_budget(question: Question, budget: DisruptionBudget) -> GuardCheck:
    used = {
        execution.action.target.name
        for execution in question.recent(budget.window_seconds)
        if execution.action.kind in budget.reasons
        and execution.action.target.kind is TargetKind.NODE
        and execution.direction not in HARMLESS
        and not execution.rolled_back
    }
    limit = budget.limit(question.state.seen.nodes)
    within = question.due.action.target.name in used or len(used) < limit
    text = (
        ""
        if within
        else f"{len(used)} nodes disrupted in {budget.window_seconds:g} s; the budget is {budget.nodes} ({limit})"
    )
    return guard_check(
        "budget",
        passed=within,
        reason=Reason.BUDGET_EXHAUSTED,
        measured=len(used),
        limit=limit,
        unit="nodes",
        text=text,
    )


GUARDS = (Guard("budget", Needs.PLAN, 60, check),)
