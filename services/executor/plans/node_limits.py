"""throttle, dvfs, memory_balloon and resource_cap: limits on one node, stated as annotations that a
node agent honours.

The embedded cluster honours them: work slows down, it does not vanish. On a real cluster they take
effect only where a node agent reads them (docs/limits). Each is taken back by its undo patch.
"""

from __future__ import annotations

from schemas.actions import (
    DvfsAction,
    MemoryBalloonAction,
    NodeLimitAction,
    ResourceCapAction,
    ThrottleAction,
)
from schemas.reasons import Reason
from services.executor.facts import Facts
from services.executor.plans.planned import (
    OperationPlan,
    PlanRefusal,
    change_taints,
    node_of,
    node_patch,
)
from services.executor.settings import ExecutorSettings

CLOCK_SCALE = "foresail.dev/clock-scale"
MEMORY_SCALE = "foresail.dev/memory-scale"
CPU_CAP = "foresail.dev/cpu-cap"
MEMORY_CAP = "foresail.dev/memory-cap"
CAPPED_TAINT = {"key": "foresail.dev/capped", "value": "true", "effect": "NoSchedule"}


def plan(
    action: NodeLimitAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Set the limits; resource_cap also keeps new pods away with a taint."""
    del settings
    node = node_of(facts, action.target.name)
    if isinstance(node, PlanRefusal):
        return node
    annotations = wanted_annotations(action)
    patch = {"metadata": {"annotations": annotations}}
    text = ", ".join(f"{name.partition('/')[2]} {value}" for name, value in annotations.items())
    limit = node_patch(node, patch, f"set {text} on {node.name}")
    capped = isinstance(action, ResourceCapAction)
    kept_away = change_taints(
        node, f"keep new pods from {node.name}", add=[CAPPED_TAINT] if capped else []
    )
    operations = tuple(one for one in (kept_away, limit) if one is not None)
    if not operations:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=f"{node.name} has {text} already")
    return OperationPlan(operations=operations, text=operations[-1].text, direction="limit")


def wanted_annotations(action: NodeLimitAction) -> dict[str, str]:
    """Return the annotations that an action asks for."""
    match action:
        case DvfsAction():
            return {CLOCK_SCALE: f"{action.clock_scale_ratio:g}"}
        case MemoryBalloonAction():
            return {MEMORY_SCALE: f"{action.memory_scale_ratio:g}"}
        case ThrottleAction():
            return {CPU_CAP: f"{action.cpu_cap_ratio:g}"}
        case ResourceCapAction():
            return {
                CPU_CAP: f"{action.cpu_cap_ratio:g}",
                MEMORY_CAP: f"{action.memory_cap_ratio:g}",
            }
