"""caps: at most so many executions within a window on one node, in one namespace, on one workload."""

from __future__ import annotations

from schemas.actions import TargetKind
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check_node(question: Question) -> GuardCheck:
    """Fail when the node had its share."""
    caps = question.settings.caps
    on_node = question.due.action.target.kind is TargetKind.NODE
    count = len(question.on_target(question.recent(caps.window_seconds))) if on_node else 0
    return _check_count(
        "cap_per_node", count, caps.per_node, Reason.CAP_PER_NODE, question.due.action.target.name
    )


def check_namespace(question: Question) -> GuardCheck:
    """Fail when one of the plan's namespaces had its share.

    Replicas of a workload take nothing away from its namespace and have caps of their own.
    """
    caps = question.settings.caps
    if question.due.action.target.kind is TargetKind.WORKLOAD:
        return _check_count(
            "cap_per_namespace", 0, caps.per_namespace, Reason.CAP_PER_NAMESPACE, ""
        )
    recent = [
        execution
        for execution in question.recent(caps.window_seconds)
        if execution.action.target.kind is not TargetKind.WORKLOAD
    ]
    namespaces = (
        {operation.namespace for operation in question.planned.operations if operation.namespace}
        if question.planned
        else set()
    )
    counts = {
        name: sum(name in execution.namespaces for execution in recent)
        for name in sorted(namespaces)
    }
    return _check_most_used(
        "cap_per_namespace", counts, caps.per_namespace, Reason.CAP_PER_NAMESPACE
    )


def check_workload(question: Question) -> GuardCheck:
    """Fail when one of the plan's workloads had its share."""
    caps = question.settings.caps
    recent = question.recent(caps.window_seconds)
    workload_ids = question.planned.workloads if question.planned else ()
    counts = {
        name: sum(name in execution.workloads for execution in recent)
        for name in sorted(workload_ids)
    }
    return _check_most_used("cap_per_workload", counts, caps.per_workload, Reason.CAP_PER_WORKLOAD)


def _check_most_used(guard: str, counts: dict[str, int], limit: int, reason: Reason) -> GuardCheck:
    name = max(counts, key=lambda count: (counts[count], count), default="")
    return _check_count(guard, counts.get(name, 0), limit, reason, name)


def _check_count(guard: str, count: int, limit: int, reason: Reason, name: str) -> GuardCheck:
    text = "" if count < limit else f"{name}: {count} executions in the window; the cap is {limit}"
    return guard_check(
        guard,
        passed=count < limit,
        reason=reason,
        measured=count,
        limit=limit,
        unit="executions",
        text=text,
    )


GUARDS = (
    Guard("cap_per_node", Needs.PLAN, 30, check_node),
    Guard("cap_per_namespace", Needs.PLAN, 40, check_namespace),
    Guard("cap_per_workload", Needs.PLAN, 50, check_workload),
)
