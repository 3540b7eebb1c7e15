"""migrate: move the largest movable pods off the risky node, or those that are named, through the Eviction API.

A PreferNoSchedule taint comes first, so that the replacements go elsewhere (left out where the node
may not be written); then up to `pods_per_migration` pods are evicted by UID, all of them where the machine
itself is about to go. Where pods are named none goes unless all of them may. Only pods with a controller move: a
bare pod would be lost. No more pods of a PodDisruptionBudget are chosen than it allows now, and those of the tightest
one go first, while there is most room. A StatefulSet gives up one pod
at a time, the one with the highest ordinal, and only while all of its replicas are ready. A pod that has no other node
to go to stays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from schemas.actions import Action, MigrateAction
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, PodFacts
from services.executor.plans.planned import OperationPlan, PlanRefusal, change_taints, node_of
from services.executor.settings import ExecutorSettings
from services.notices import NOTICE_TAINTS
from services.ordinals import ordinal_of

RISK_TAINT = {"key": "foresail.dev/risk", "value": "true", "effect": "PreferNoSchedule"}
MARKS = "mark"
"""The direction of a plan that keeps new pods away and moves none, so that it disrupts nothing."""


def plan(action: Action, facts: Facts, settings: ExecutorSettings) -> OperationPlan | PlanRefusal:
    """Taint the node, then evict its largest movable pods."""
    node = node_of(facts, action.target.name)
    if isinstance(node, PlanRefusal):
        return node
    if isinstance(action, MigrateAction) and action.pods == ():
        return _mark(node)
    owned = [pod for pod in facts.pods if pod.workload and not pod.daemon]
    movable = [
        pod
        for pod in owned
        if not _is_protected(pod, facts) and pod.namespace not in settings.protected_namespaces
    ]
    if movable:
        kept = {
            pod.uid: why for pod in movable if (why := _why_it_stays(pod, movable, facts, settings))
        }
        left = [pod for pod in movable if pod.uid not in kept]
        if not left:
            why = next(iter(kept.values()))
            text = f"no pod of {node.name} may be moved now: {why}"
            return PlanRefusal(reason=Reason.NO_MOVABLE_POD, text=text)
        movable = left
    if not movable:
        reason = Reason.PROTECTED if owned else Reason.NO_MOVABLE_POD
        return PlanRefusal(
            reason=reason, text=f"no pod of {node.name} may be moved ({len(facts.pods)} pods)"
        )
    named = action.pods if isinstance(action, MigrateAction) else None
    most = settings.pods_per_migration
    if named is not None:
        most = settings.named_pods_per_migration
        movable = [pod for pod in movable if f"{pod.namespace}/{pod.name}" in named]
        if min(most, len(movable)) < len(named):
            text = f"of {', '.join(named)} only {min(most, len(movable))} may be moved off {node.name} now"
            return PlanRefusal(reason=Reason.NO_MOVABLE_POD, text=text)
    movable.sort(key=lambda pod: (-pod.cpu_request_cores, pod.namespace, pod.name))
    allowed = _within_budgets(movable)
    if not allowed:
        names = ", ".join(dict.fromkeys(name for pod in movable for name in pod.budgets))
        text = f"PodDisruptionBudget {names} lets no pod of {node.name} go"
        return PlanRefusal(reason=Reason.PDB, text=text)
    going = any(taint.get("key") in NOTICE_TAINTS for taint in node.taints)
    chosen = allowed if going else allowed[:most]
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


def _mark(node: NodeFacts) -> OperationPlan | PlanRefusal:
    """Keep new pods from a node that is to go, as long as others have room; what runs there stays."""
    if not node.writable:
        return PlanRefusal(reason=Reason.NODE_NOT_NAMED, text=f"{node.name} may not be written")
    taint = _taint(node)
    if taint is None:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=f"{node.name} is marked already")
    return OperationPlan(operations=(taint,), text=taint.text, direction=MARKS)


def _why_it_stays(
    pod: PodFacts, others: Sequence[PodFacts], facts: Facts, settings: ExecutorSettings
) -> str:
    """Return why a pod that nobody protects is not moved now; empty where it may be."""
    if "/Job/" in pod.workload and not settings.moves_job_pods:
        return f"{pod.name} belongs to a Job, which would begin its work anew"
    if pod.confined:
        return f"no other open node has what {pod.name} asks for"
    if "/StatefulSet/" not in pod.workload:
        return ""
    owner = facts.workload(pod.workload)
    if owner is None:
        return f"the StatefulSet of {pod.name} could not be read"
    if owner.ready < owner.replicas:
        return f"{owner.ready} of {owner.replicas} replicas of StatefulSet {owner.name} are ready"
    same = (other for other in others if other.workload == pod.workload and not other.confined)
    first = max(same, key=lambda other: ordinal_of(other.name))
    return "" if first.uid == pod.uid else f"StatefulSet {owner.name} gives up one pod at a time"


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
        if workload is not None and workload.kind in {"Deployment", "StatefulSet"}
    }


def _is_protected(pod: PodFacts, facts: Facts) -> bool:
    workload = facts.workload(pod.workload)
    return pod.protected or (workload is not None and workload.protected)


def _taint(node: NodeFacts) -> Operation | None:
    if not node.writable:
        return None
    return change_taints(node, f"prefer other nodes than {node.name}", add=[RISK_TAINT])


def _evict(pod: PodFacts, node: NodeFacts) -> Operation:
    return Operation(
        verb=Verb.EVICT,
        resource="pods",
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        text=f"evict {pod.namespace}/{pod.name} from {node.name}",
    )
