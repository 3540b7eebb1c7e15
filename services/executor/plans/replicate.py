"""replicate: so many replicas of a workload, or one more of the Deployment that has most pods on a node.

A node's end is absolute (`replicas = n + 1` at the version that was read), so doing it twice is doing it
once. It costs the capacity of one replica.
"""

from __future__ import annotations

from collections import Counter

from schemas.actions import ReplicateAction
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.plans.replicate_workload import has_standing_scale_up, plan_replicas
from services.executor.settings import ExecutorSettings


def plan(
    action: ReplicateAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Scale the target, or the Deployment with most pods on the node, then the first by name."""
    if action.replicas is not None:
        return plan_replicas(action.target.name, action.replicas, facts, settings)
    if facts.node is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"node {action.target.name} is gone")
    counts = Counter(pod.workload for pod in facts.pods if "/Deployment/" in pod.workload)
    protected = 0
    for name in sorted(counts, key=lambda count: (-counts[count], count)):
        workload = facts.workload(name)
        if workload is None:
            continue
        if workload.protected or workload.namespace in settings.protected_namespaces:
            protected += 1
            continue
        replicas = workload.replicas + 1
        if has_standing_scale_up(workload):  # the annotation has to stay true
            return plan_replicas(name, replicas, facts, settings)
        operation = Operation(
            verb=Verb.SCALE,
            resource="deployments",
            namespace=workload.namespace,
            name=workload.name,
            uid=workload.uid,
            resource_version=workload.resource_version,
            replicas=replicas,
            undo=f'{{"spec":{{"replicas":{workload.replicas}}}}}',
            text=f"scale {workload.namespace}/{workload.name} from {workload.replicas} to {replicas} replicas",
        )
        return OperationPlan(
            operations=(operation,), text=operation.text, direction="up", workloads=(name,)
        )
    if protected:
        return PlanRefusal(
            reason=Reason.PROTECTED, text=f"every Deployment on {facts.node.name} is protected"
        )
    return PlanRefusal(
        reason=Reason.NO_WORKLOAD, text=f"no Deployment has a pod on {facts.node.name}"
    )
