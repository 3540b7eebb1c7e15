"""Plans within the guards: what a plan would touch is read, and what must stay is planned around."""

from __future__ import annotations

from dataclasses import replace

from schemas.outcome import GuardCheck
from services.cluster import Transport
from services.executor.eviction_trials import without_refused_evictions
from services.executor.facts import Facts
from services.executor.guard_discovery import Stage, ask_guards
from services.executor.plans import PLANS
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.question import Question
from services.executor.reading import read_reach
from services.executor.strike import strike_out_forbidden

ROUNDS = 25
"""Plans tried before a decision is refused; each leaves out at least one thing more."""


async def plan_within(
    transport: Transport, question: Question, facts: Facts
) -> tuple[OperationPlan | PlanRefusal, tuple[GuardCheck, ...]]:
    """Return the first plan that touches nothing forbidden, or why there is none, with the answers of
    the guards to the newest plan.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    action, settings = question.due.action, question.settings
    checks: tuple[GuardCheck, ...] = ()
    planned: OperationPlan | PlanRefusal = PLANS[action.kind](action, facts, settings)
    for _ in range(ROUNDS):
        if isinstance(planned, PlanRefusal):
            return planned, checks
        reaches = [
            await read_reach(transport, operation, question.scope)
            for operation in planned.operations
        ]
        question_with_plan = replace(question, planned=planned, reaches=tuple(reaches))
        checks = ask_guards(Stage.BEFORE_WRITING, question_with_plan)
        left = (
            None
            if all(check.passed for check in checks)
            else strike_out_forbidden(facts, question_with_plan)
        )
        if left is None and all(check.passed for check in checks) and not question.scope.everything:
            left = await without_refused_evictions(transport, facts, planned.operations)
        if left is None:
            return planned, checks
        facts = left
        planned = PLANS[action.kind](action, facts, settings)
    return planned, checks
