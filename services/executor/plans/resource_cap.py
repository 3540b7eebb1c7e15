"""resource_cap: the namespaces of a node's pods may not ask for more than they do now.

A ResourceQuota of our own holds requests of CPU and memory at what is in use, and one pod more of the largest kind, so
that pods are replaced and rolled out one at a time. Only where a LimitRange gives containers their requests: elsewhere
a quota would refuse every pod without any. It says which decision made it and when it ends, and is taken back then.
The simulated cluster honours limits on nodes, too: there the annotations do where no namespace has defaults.
"""

from __future__ import annotations

from datetime import UTC, datetime

from inputs.quantities import cpu_text, memory_text
from schemas.actions import ResourceCapAction
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NamespaceFacts
from services.executor.plans import node_limits
from services.executor.plans.planned import OperationPlan, PlanRefusal, canonical_json, node_of
from services.executor.settings import ExecutorSettings

QUOTA = "foresail-cap"
"""The name of our quota; one in a namespace."""
MEANS = "quota"
EXPIRES, DECISION = "foresail.dev/expires", "foresail.dev/decision"


def plan(
    action: ResourceCapAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Cap each namespace that has pods on the node and defaults for their requests."""
    if settings.node_limits == "node_agent":
        return node_limits.plan(action, facts, settings)
    node = node_of(facts, action.target.name)
    if isinstance(node, PlanRefusal):
        return node
    fitting = [
        one
        for one in facts.namespaces
        if one.has_defaults and one.name not in settings.protected_namespaces
    ]
    if not fitting and facts.simulated:
        return node_limits.plan(action, facts, settings)
    if not fitting:
        text = f"no namespace with pods on {node.name} has a LimitRange with defaults"
        return PlanRefusal(reason=Reason.NO_DEFAULTS, text=text)
    allowed = [one for one in fitting if not one.protected]
    if not allowed:
        names = ", ".join(one.name for one in fitting)
        return PlanRefusal(reason=Reason.PROTECTED, text=f"namespaces {names} may not be capped")
    free = [one for one in allowed if not one.capped]
    if not free:
        text = f"every namespace with pods on {node.name} is capped already"
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=text)
    names = ", ".join(one.name for one in free)
    capped = {one.name for one in free}
    return OperationPlan(
        operations=tuple(_quota(one, facts, settings) for one in free),
        text=f"cap the requests of {names}, which have pods on {node.name}",
        direction="limit",
        means=MEANS,
        missing_replicas={
            workload.id: max(0, workload.replicas - workload.ready)
            for workload in facts.workloads
            if workload.kind == "Deployment" and workload.namespace in capped
        },
    )


def _quota(space: NamespaceFacts, facts: Facts, settings: ExecutorSettings) -> Operation:
    hard = {
        "requests.cpu": cpu_text(space.used_millicores + space.most_millicores),
        "requests.memory": memory_text(space.used_bytes + space.most_bytes),
    }
    ends = facts.time_seconds + settings.limit_seconds
    notes = {DECISION: facts.decision_id}
    if settings.limit_seconds:
        notes[EXPIRES] = datetime.fromtimestamp(int(ends), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    content = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": QUOTA, "namespace": space.name, "annotations": notes},
        "spec": {"hard": hard},
    }
    limits = ", ".join(f"{name} {amount}" for name, amount in hard.items())
    return Operation(
        verb=Verb.CREATE,
        resource="resourcequotas",
        namespace=space.name,
        name=QUOTA,
        patch=canonical_json(content),
        undo="{}",
        text=f"create quota {space.name}/{QUOTA}: {limits}",
    )
