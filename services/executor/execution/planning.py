"""Plans within the guards: what a plan would touch is read, and what must stay is planned around.

A pod that must stay does not keep another one from being moved: what guards forbid is struck out, and planned again.
Evictions are tried as dry runs: PodDisruptionBudgets are read where they may be, but the server has the last word; it
also knows budgets that may not be read, and those that it has not yet counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from schemas.outcome import GuardCheck, Operation, Verb
from services.cluster import ClusterRefused, Transport
from services.executor.facts import Facts, WorkloadFacts
from services.executor.guards import Needs, Question, ask_guards
from services.executor.plans import PLANS
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.plans.resource_cap import QUOTA
from services.executor.reading.reach import read_reach
from services.executor.writing.operations import DISRUPTION_BUDGET
from services.executor.writing.sending import send_operation

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
        checks = ask_guards(Needs.REACH, question_with_plan)
        left = (
            None
            if all(check.passed for check in checks)
            else exclude_forbidden(facts, question_with_plan)
        )
        if left is None and all(check.passed for check in checks) and not question.scope.everything:
            left = await without_refused_evictions(transport, facts, planned.operations)
        if left is None:
            return planned, checks
        facts = left
        planned = PLANS[action.kind](action, facts, settings)
    return planned, checks


def exclude_forbidden(facts: Facts, question: Question) -> Facts | None:
    """Return facts in which nothing that these operations may not write can be chosen; None when
    that leaves them as they are.
    """
    forbidden = {reach.key for reach in question.reaches if not _is_permitted(question, reach.key)}
    scope = question.scope
    pods = tuple(
        pod.model_copy(update={"protected": True})
        if f"pods {pod.namespace}/{pod.name}" in forbidden or not scope.has_namespace(pod.namespace)
        else pod
        for pod in facts.pods
    )
    workloads = tuple(
        workload.model_copy(update={"protected": True})
        if _reach_key(workload) in forbidden or not scope.has_namespace(workload.namespace)
        else workload
        for workload in facts.workloads
    )
    namespaces = tuple(
        space.model_copy(update={"protected": True})
        if f"resourcequotas {space.name}/{QUOTA}" in forbidden
        or not scope.has_namespace(space.name)
        else space
        for space in facts.namespaces
    )
    node = facts.node
    if node is not None and f"nodes {node.name}" in forbidden:
        node = node.model_copy(update={"writable": False})
    left = facts.model_copy(
        update={"node": node, "pods": pods, "workloads": workloads, "namespaces": namespaces}
    )
    return None if left == facts else left


def _is_permitted(question: Question, key: str) -> bool:
    alone = tuple(reach for reach in question.reaches if reach.key == key)
    return all(check.passed for check in ask_guards(Needs.REACH, replace(question, reaches=alone)))


def _reach_key(workload_facts: WorkloadFacts) -> str:
    resource = "jobs" if workload_facts.kind == "Job" else "deployments"
    return f"{resource} {workload_facts.namespace}/{workload_facts.name}"


async def without_refused_evictions(
    transport: Transport, facts: Facts, operations: Iterable[Operation]
) -> Facts | None:
    """Return facts in which a budget holds the pods that may not go now; None: all of them may.

    Raises:
        ClusterUnavailable: the cluster could not be asked.
    """
    kept = set()
    for operation in operations:
        if operation.verb is Verb.EVICT and await _is_held(transport, operation):
            kept.add(operation.uid)
    if not kept:
        return None
    pods = tuple(
        pod.model_copy(update={"disruptions_allowed": 0, "budgets": pod.budgets or (UNREAD,)})
        if pod.uid in kept
        else pod
        for pod in facts.pods
    )
    return facts.model_copy(update={"pods": pods})


UNREAD = "(not readable)"
"""What a budget is called that only the server knows."""


async def _is_held(transport: Transport, operation: Operation) -> bool:
    try:
        await send_operation(transport, operation, dry_run=True)
    except ClusterRefused as error:
        return error.status == 429 and DISRUPTION_BUDGET in error.causes
    return False
