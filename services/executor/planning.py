"""Plans within the guards: what a plan would touch is read, and what must stay is planned around."""

from __future__ import annotations

from dataclasses import replace

from schemas.outcome import GuardCheck
from services.cluster import Transport
from services.executor.facts import Facts
from services.executor.guards import BEFORE_WRITING, ask
from services.executor.guards.question import Question
from services.executor.plans import PLANS
from services.executor.plans.planned import Planned, Refusal
from services.executor.reading import read_reach
from services.executor.strike import strike

ROUNDS = 25
"""Plans tried before a decision is refused; each leaves out at least one thing more."""


async def plan_within(
    transport: Transport, question: Question, facts: Facts
) -> tuple[Planned | Refusal, tuple[GuardCheck, ...]]:
    """Return the first plan that touches nothing forbidden, or why there is none, with the answers of
    the guards to the newest plan.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    action, settings = question.due.action, question.settings
    checks: tuple[GuardCheck, ...] = ()
    planned: Planned | Refusal = PLANS[action.kind](action, facts, settings)
    for _ in range(ROUNDS):
        if isinstance(planned, Refusal):
            return planned, checks
        reaches = [await read_reach(transport, one, question.scope) for one in planned.operations]
        asked = replace(question, planned=planned, reaches=tuple(reaches))
        checks = ask(BEFORE_WRITING, asked)
        left = None if all(one.passed for one in checks) else strike(facts, asked)
        if left is None:
            return planned, checks
        facts = left
        planned = PLANS[action.kind](action, facts, settings)
    return planned, checks
