"""Strikes out what guards forbid, so that a plan is made again without it: a pod that must stay does
not keep another one from being moved.
"""

from __future__ import annotations

from dataclasses import replace

from services.executor.facts import Facts, WorkloadFacts
from services.executor.guard_discovery import Stage, ask_guards
from services.executor.plans.resource_cap import QUOTA
from services.executor.question import Question


def strike_out_forbidden(facts: Facts, question: Question) -> Facts | None:
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
    return all(
        check.passed for check in ask_guards(Stage.BEFORE_WRITING, replace(question, reaches=alone))
    )


def _reach_key(workload_facts: WorkloadFacts) -> str:
    resource = "jobs" if workload_facts.kind == "Job" else "deployments"
    return f"{resource} {workload_facts.namespace}/{workload_facts.name}"
