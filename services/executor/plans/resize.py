"""throttle and memory_balloon: pods of a node are given less, in place and without a restart.

throttle lowers CPU limits, so that the node's other pods keep what they need; memory_balloon lowers memory
requests, so that the scheduler may use what lies idle. Nothing goes below the peak of the last minutes plus a
margin, and what changes ends with the pod. Where the server serves no resize, or no pod can be resized, a
PreferNoSchedule taint keeps new work away instead; with a node agent, annotations state the limit.
"""

from __future__ import annotations

from schemas.actions import MemoryBalloonAction, ThrottleAction
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, PodFacts
from services.executor.plans import node_limits
from services.executor.plans.planned import (
    OperationPlan,
    PlanRefusal,
    canonical_json,
    change_taints,
    node_of,
)
from services.executor.plans.resizing import (
    Amounts,
    former_amounts,
    lowered_cpu,
    lowered_memory,
    resize_patch,
)
from services.executor.settings import ExecutorSettings

LIMITED_TAINT = {"key": "foresail.dev/limited", "value": "true", "effect": "PreferNoSchedule"}
RESIZE, TAINT = "resize", "taint"
"""The means, as the event names them."""
LimitAction = ThrottleAction | MemoryBalloonAction


def plan(
    action: LimitAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Resize the largest pods; else taint the node."""
    if settings.node_limits == "node_agent":
        return node_limits.plan(action, facts, settings)
    node = node_of(facts, action.target.name)
    if isinstance(node, PlanRefusal):
        return node
    if not facts.resize_served:
        return _prefer_others(node, "the API server does not serve pods/resize")
    resizable = [pod for pod in facts.pods if _may_resize(pod, action, facts, settings)]
    if not resizable:
        return _prefer_others(node, f"no pod of {node.name} can be resized")
    known = [pod for pod in resizable if pod.usage_seconds >= settings.usage_seconds]
    if not known:
        longest = max(pod.usage_seconds for pod in resizable)
        text = (
            f"what the pods of {node.name} use is known for {longest:.0f} s; "
            f"{settings.usage_seconds:g} s are asked for"
        )
        return PlanRefusal(reason=Reason.USAGE_UNKNOWN, text=text)
    return _resize(action, node, known, facts, settings)


def _resize(
    action: LimitAction,
    node: NodeFacts,
    pods: list[PodFacts],
    facts: Facts,
    settings: ExecutorSettings,
) -> OperationPlan | PlanRefusal:
    lowered = [(pod, _lowered(pod, action, facts, settings)) for pod in pods]
    chosen = [(pod, amounts) for pod, amounts in lowered if amounts][: settings.pods_per_resize]
    if not chosen:
        text = f"no pod of {node.name} has more than its peak and a margin"
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=text)
    names = ", ".join(pod.name for pod, _ in chosen)
    what = "CPU limits" if isinstance(action, ThrottleAction) else "memory requests"
    return OperationPlan(
        operations=tuple(resize_operation(pod, amounts) for pod, amounts in chosen),
        text=f"resize {names} on {node.name}: lower {what}, {_basis(chosen[0][0], facts)}",
        direction="limit",
        workloads=tuple(dict.fromkeys(pod.workload for pod, _ in chosen if pod.workload)),
        means=RESIZE,
    )


def _basis(pod: PodFacts, facts: Facts) -> str:
    """Say what the first pod's amounts rest on; the others' were measured by the same source."""
    age = max(0.0, facts.time_seconds - pod.usage_time_seconds)
    over = f", over {pod.usage_window_seconds:g} s each" if pod.usage_window_seconds else ""
    return f"by peaks of {pod.usage_seconds:.0f} s ({pod.usage_source}{over}, {age:.0f} s old)"


def _may_resize(
    pod: PodFacts, action: LimitAction, facts: Facts, settings: ExecutorSettings
) -> bool:
    """Say whether a pod has an amount that this kind lowers, and nobody forbids it."""
    if pod.daemon or pod.protected or pod.namespace in settings.protected_namespaces:
        return False
    workload = facts.workload(pod.workload)
    if workload is not None and workload.protected:
        return False
    if isinstance(action, ThrottleAction):
        return any("cpu" in one.limits and "cpu" not in one.restarts_for for one in pod.containers)
    if pod.qos == "Guaranteed" and not facts.memory_limits_fall:
        return False
    return any(
        "memory" in one.requests and "memory" not in one.restarts_for for one in pod.containers
    )


def _lowered(
    pod: PodFacts, action: LimitAction, facts: Facts, settings: ExecutorSettings
) -> dict[str, Amounts]:
    margin = settings.usage_margin_ratio
    if isinstance(action, ThrottleAction):
        ratio = action.cpu_cap_ratio
        each = {one.name: lowered_cpu(pod, one, ratio, margin) for one in pod.containers}
    else:
        ratio, fall = action.memory_scale_ratio, facts.memory_limits_fall
        each = {
            one.name: lowered_memory(pod, one, ratio, margin, limits_fall=fall)
            for one in pod.containers
        }
    return {name: amounts for name, amounts in each.items() if amounts}


def resize_operation(pod: PodFacts, amounts: dict[str, Amounts]) -> Operation:
    """Return the write that gives a pod these amounts, by container, with its undo."""
    containers = {one.name: one for one in pod.containers}
    former = {name: former_amounts(containers[name], each) for name, each in amounts.items()}
    changes = ", ".join(
        f"{name} {resource} {field[:-1]} {former[name][field].get(resource, 'none')} to {text}"
        for name, each in amounts.items()
        for field, values in sorted(each.items())
        for resource, text in values.items()
    )
    return Operation(
        verb=Verb.RESIZE,
        resource="pods",
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        resource_version=pod.resource_version,
        patch=canonical_json(resize_patch(amounts)),
        undo=canonical_json(resize_patch(former)),
        text=f"resize {pod.namespace}/{pod.name}: {changes}",
    )


def _prefer_others(node: NodeFacts, why: str) -> OperationPlan | PlanRefusal:
    operation = change_taints(node, f"prefer other nodes than {node.name}", add=[LIMITED_TAINT])
    if operation is None:
        text = f"{node.name} is tainted already: {why}"
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=text)
    return OperationPlan(
        operations=(operation,),
        text=f"{operation.text}, since {why}",
        direction="limit",
        means=TAINT,
    )
