"""resize: running pods of a workload get other requests, in place; the template stays its owner's.

Each container keeps its share of what the pod requests. Limits stay, or rise to the request. A Guaranteed pod is left
alone: its request could fall only with its limit. Memory is not lowered below what a pod uses right now, and nothing is
where that cannot be read. Of cores a pod may use more than it requests for a while: those beside it use less then.
"""

from __future__ import annotations

import math

from inputs.quantities import cpu_text, memory_text, parse_quantity
from schemas.actions import ResizeAction
from schemas.reasons import Reason
from services.executor.facts import ContainerFacts, Facts, PodFacts
from services.executor.plans.planned import OperationPlan, PlanRefusal
from services.executor.plans.resize import resize_operation
from services.executor.plans.resizing import Amounts
from services.executor.settings import ExecutorSettings

_MEBIBYTE = 1 << 20
_MILLI = 1_000


def plan(
    action: ResizeAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Resize the pods that request something else, as many at once as the settings allow."""
    name = action.target.name
    if not facts.resize_served:
        return PlanRefusal(
            reason=Reason.MEANS_MISSING, text="the API server does not serve pods/resize"
        )
    if facts.autoscaler is not None:
        text = f"HPA {facts.autoscaler.name} scales {name}, perhaps by use of its requests, which therefore stay"
        return PlanRefusal(reason=Reason.AUTOSCALED, text=text)
    if not facts.pods:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"{name} has no running pod")
    protected = settings.protected_namespaces
    free = [
        pod
        for pod in facts.pods
        if not (pod.daemon or pod.protected or pod.namespace in protected)
        and pod.containers
        and pod.qos == "Burstable"
    ]
    if not free:
        text = f"no pod of {name} may be resized: Guaranteed, protected, with a resize under way, or another's"
        return PlanRefusal(reason=Reason.NO_WORKLOAD, text=text)
    wanted = [(pod, each) for pod in free if (each := wanted_amounts(pod, action))]
    if not wanted:
        return PlanRefusal(
            reason=Reason.ALREADY_IN_STATE, text=f"pods of {name} request that already"
        )
    kept = [(pod, why) for pod, each in wanted if (why := _why_kept(pod, each))]
    held = {pod.uid for pod, _ in kept}
    chosen = [one for one in wanted if one[0].uid not in held][: settings.pods_per_fit]
    if not chosen:
        return PlanRefusal(reason=Reason.USAGE_UNKNOWN, text=f"{kept[0][0].name} {kept[0][1]}")
    names = ", ".join(pod.name for pod, _ in chosen)
    return OperationPlan(
        operations=tuple(resize_operation(pod, each) for pod, each in chosen),
        text=f"resize {names}: requests by the peak that is expected",
        direction="size",
        workloads=(name,),
    )


def wanted_amounts(pod: PodFacts, action: ResizeAction) -> dict[str, Amounts]:
    """Return the amounts that change, by container; empty: the pod requests that already."""
    changes: dict[str, Amounts] = {}
    for resource, total, unit in (
        ("cpu", action.cpu_request_cores, _MILLI),
        ("memory", action.memory_request_bytes, 1),
    ):
        requests = {
            one.name: int(parse_quantity(one.requests[resource]) * unit)
            for one in pod.containers
            if resource in one.requests and resource not in one.restarts_for
        }
        now = sum(requests.values())
        if total is None or not now:
            continue
        for one in pod.containers:
            if one.name in requests:
                share = total * unit * requests[one.name] / now
                _add_change(changes, one, resource, share, requests[one.name])
    return changes


def _add_change(
    changes: dict[str, Amounts], one: ContainerFacts, resource: str, share: float, now: int
) -> None:
    if resource == "cpu":
        wanted = math.ceil(round(share, 6))
        text = cpu_text(wanted)
    else:
        wanted = math.ceil(round(share / _MEBIBYTE, 6)) * _MEBIBYTE
        text = memory_text(wanted)
    if wanted == now:
        return
    amounts = changes.setdefault(one.name, {})
    amounts.setdefault("requests", {})[resource] = text
    limit = one.limits.get(resource)
    if limit is not None and parse_quantity(limit) < parse_quantity(text):
        amounts.setdefault("limits", {})[resource] = text


def _why_kept(pod: PodFacts, amounts: dict[str, Amounts]) -> str:
    """Return why a pod is not given less: what it uses is not known, or is more; empty where it may be."""
    containers = {one.name: one for one in pod.containers}
    for name, each in amounts.items():
        one = containers[name]
        for resource, text in each.get("requests", {}).items():
            wanted = parse_quantity(text)
            if wanted >= parse_quantity(one.requests[resource]):
                continue
            used = one.peak_cores if resource == "cpu" else one.peak_bytes
            if used is None:
                return f"is not given less {resource}: what it uses now cannot be read"
            if resource == "memory" and used > wanted:
                return f"is not given less memory: it uses {used:g} now, more than {text}"
    return ""
