"""migrate: move the largest movable pods off the risky node, through the Eviction API.

A PreferNoSchedule taint comes first, so that the replacements go elsewhere (left out where the node
may not be written); then up to `pods_per_migration` pods are evicted by UID, all of them where the machine
itself is about to go. Only pods with a controller move: a bare pod would be lost. No more pods of a
PodDisruptionBudget are chosen than it allows now, and those of the tightest one go first, since a plan ends
with the first write that the API server refuses (429).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from schemas.actions import Action
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, PodFacts
from services.executor.plans.planned import OperationPlan, PlanRefusal, node_patch
from services.executor.settings import ExecutorSettings
from services.notices import NOTICE_TAINTS

RISK_TAINT = {"key": "foresail.dev/risk", "value": "true", "effect": "PreferNoSchedule"}


def plan(action: Action, facts: Facts, settings: ExecutorSettings) -> OperationPlan | PlanRefusal:
    """Taint the node, then evict its largest movable pods."""
    node = facts.node
    if node is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"node {action.target.name} is gone")
    if node.protected:
        return PlanRefusal(
            reason=Reason.PROTECTED, text=f"node {node.name} is marked do-not-disrupt"
        )
    owned = [pod for pod in facts.pods if pod.workload and not pod.daemon]
    movable = [
        pod
        for pod in owned
        if not _is_protected(pod, facts) and pod.namespace not in settings.protected_namespaces
    ]
    if not movable:
        reason = Reason.PROTECTED if owned else Reason.NO_MOVABLE_POD
        return PlanRefusal(
            reason=reason, text=f"no pod of {node.name} may be moved ({len(facts.pods)} pods)"
        )
    movable.sort(key=lambda pod: (-pod.cpu_request_cores, pod.namespace, pod.name))
    allowed = _within_budgets(movable)
    if not allowed:
        names = ", ".join(dict.fromkeys(name for pod in movable for name in pod.budgets))
        text = f"PodDisruptionBudget {names} lets no pod of {node.name} go"
        return PlanRefusal(reason=Reason.PDB, text=text)
    going = any(taint.get("key") in NOTICE_TAINTS for taint in node.taints)
    chosen = allowed if going else allowed[: settings.pods_per_migration]
    chosen.sort(key=_room_of_budget)
    operations = tuple(filter(None, [_taint(node), *(_evict(pod, node) for pod in chosen)]))
    names = ", ".join(pod.name for pod in chosen)
    return OperationPlan(
        operations=operations,
        text=f"evict {names} from {node.name}",
        direction="move",
        workloads=tuple(dict.fromkeys(pod.workload for pod in chosen)),
        missing_replicas=_missing_replicas(chosen, facts),
    )


def _within_budgets(pods: Sequence[PodFacts]) -> list[PodFacts]:
    """Return the pods, in their order, of which the budgets allow that all go now."""
    used: Counter[tuple[str, str]] = Counter()
    chosen = []
    for pod in pods:
        keys = [(pod.namespace, name) for name in pod.budgets]
        if pod.disruptions_allowed is None or all(
            used[key] < pod.disruptions_allowed for key in keys
        ):
            used.update(keys)
            chosen.append(pod)
    return chosen


def _room_of_budget(pod: PodFacts) -> float:
    return math.inf if pod.disruptions_allowed is None else pod.disruptions_allowed


def _missing_replicas(chosen: Sequence[PodFacts], facts: Facts) -> dict[str, int]:
    workloads = (facts.workload(name) for name in dict.fromkeys(pod.workload for pod in chosen))
    return {
        workload.id: max(0, workload.replicas - workload.ready)
        for workload in workloads
        if workload is not None and workload.kind == "Deployment"
    }


def _is_protected(pod: PodFacts, facts: Facts) -> bool:
    workload = facts.workload(pod.workload)
    return pod.protected or (workload is not None and workload.protected)


def _taint(node: NodeFacts) -> Operation | None:
    if RISK_TAINT in node.taints or not node.writable:
        return None
    patch = {"spec": {"taints": [*node.taints, RISK_TAINT]}}
    return node_patch(node, patch, f"prefer other nodes than {node.name}", versioned=True)


def _evict(pod: PodFacts, node: NodeFacts) -> Operation:
    return Operation(
        verb=Verb.EVICT,
        resource="pods",
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        text=f"evict {pod.namespace}/{pod.name} from {node.name}",
    )
