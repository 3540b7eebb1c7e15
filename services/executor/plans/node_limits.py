"""throttle, dvfs, memory_balloon and resource_cap: limits on one node, stated as annotations that its node
agent holds.

Each limit says whose it is and when it ends (`schemas.node_limits`), so that an agent takes it off by itself where
nobody of us is left to do it. The embedded cluster's nodes honour the bare value, without an agent: work slows down, it
does not vanish. Other nodes without an agent that lives and has the means are left alone. Each is taken back by its
undo patch.
"""

from __future__ import annotations

from schemas.actions import (
    DvfsAction,
    MemoryBalloonAction,
    NodeLimitAction,
    ResourceCapAction,
    ThrottleAction,
)
from schemas.node_annotations import NodeLimit
from schemas.node_limits import MOST_LEASE_SECONDS, limit_annotations, read_requests
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts
from services.executor.plans.planned import (
    OperationPlan,
    PlanRefusal,
    change_taints,
    node_of,
    node_patch,
)
from services.executor.settings import ExecutorSettings

CAPPED_TAINT = {"key": "foresail.dev/capped", "value": "true", "effect": "NoSchedule"}
NODE_AGENT = "node_agent"
"""The means, as the event names it."""


def plan(
    action: NodeLimitAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Set the limits; resource_cap also keeps new pods away with a taint."""
    node = node_of(facts, action.target.name)
    if isinstance(node, PlanRefusal):
        return node
    limits = wanted_limits(action)
    if why := _without_means(node, limits):
        return PlanRefusal(reason=Reason.NO_NODE_AGENT, text=why)
    node = _without_ended(node, facts.time_seconds)
    shown = {limit.word: f"{ratio:g}" for limit, ratio in limits.items()}
    text = ", ".join(f"{word} {value}" for word, value in shown.items())
    as_wanted = all(_shows(node, limit, shown[limit.word]) for limit in limits)
    annotations = _annotations(node, limits, facts, settings)
    patch = {"metadata": {"annotations": {} if as_wanted else annotations}}
    limit = node_patch(node, patch, f"set {text} on {node.name}")
    capped = isinstance(action, ResourceCapAction)
    kept_away = change_taints(
        node, f"keep new pods from {node.name}", add=[CAPPED_TAINT] if capped else []
    )
    operations = tuple(one for one in (kept_away, limit) if one is not None)
    if not operations:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=f"{node.name} has {text} already")
    return OperationPlan(
        operations=operations,
        text=operations[-1].text,
        direction="limit",
        means="" if node.agent is None else NODE_AGENT,
    )


def wanted_limits(action: NodeLimitAction) -> dict[NodeLimit, float]:
    """Return the limits that an action asks for."""
    match action:
        case DvfsAction():
            return {NodeLimit.CLOCK_SCALE: action.clock_scale_ratio}
        case MemoryBalloonAction():
            return {NodeLimit.MEMORY_SCALE: action.memory_scale_ratio}
        case ThrottleAction():
            return {NodeLimit.CPU_CAP: action.cpu_cap_ratio}
        case ResourceCapAction():
            return {
                NodeLimit.CPU_CAP: action.cpu_cap_ratio,
                NodeLimit.MEMORY_CAP: action.memory_cap_ratio,
            }


def _without_means(node: NodeFacts, limits: dict[NodeLimit, float]) -> str:
    """Return in words why nobody on a node would hold these limits; empty: somebody would."""
    if node.agent is None:
        return "" if node.simulated else f"{node.name} has no node agent that lives"
    lacking = [limit.word for limit in limits if limit not in node.agent.can]
    return f"the node agent of {node.name} has no means for {', '.join(lacking)}" if lacking else ""


def _shows(node: NodeFacts, limit: NodeLimit, value: str) -> bool:
    """Say whether a limit is asked for already, in a form that its agent takes."""
    found = next((one for one in read_requests(node.annotations) if one.limit is limit), None)
    if found is None or found.value != value:
        return False
    return node.agent is None or bool(found.decision and found.expires_seconds)


def _annotations(
    node: NodeFacts, limits: dict[NodeLimit, float], facts: Facts, settings: ExecutorSettings
) -> dict[str, str]:
    if node.agent is None:
        return {limit.value: f"{ratio:g}" for limit, ratio in limits.items()}
    ends = facts.time_seconds + (settings.limit_seconds or MOST_LEASE_SECONDS)
    return {
        key: value
        for limit, ratio in limits.items()
        for key, value in limit_annotations(limit, ratio, facts.decision_id, ends).items()
    }


def _without_ended(node: NodeFacts, now_seconds: float) -> NodeFacts:
    """Return a node without the annotations of limits whose time is over: they are not to be given back."""
    ended = {
        key
        for request in read_requests(node.annotations)
        if request.expires_seconds is not None and request.expires_seconds <= now_seconds
        for key in (request.limit.value, request.limit.decision_key, request.limit.expires_key)
    }
    kept = {key: value for key, value in node.annotations.items() if key not in ended}
    return node.model_copy(update={"annotations": kept})
