"""power_state: put an empty node to sleep, or wake it.

Only a node without pods (DaemonSets aside) sleeps, so no work is lost; it is cordoned in the same
write. Waking is the undo; it also takes away our own taint, which keeps pods from a node that was emptied.
"""

from __future__ import annotations

from typing import Any

from schemas.actions import PowerStateAction
from schemas.reasons import Reason
from services.executor.facts import Facts
from services.executor.plans.migrate import RISK_TAINT
from services.executor.plans.planned import OperationPlan, PlanRefusal, node_patch
from services.executor.settings import ExecutorSettings

RISK = str(RISK_TAINT["key"])
POWER_STATE = "foresail.dev/power-state"
SLEEPING = frozenset({"sleep", "off"})


def plan(
    action: PowerStateAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Set the power state and whether pods may be scheduled."""
    del settings
    node, state = facts.node, action.power_state
    if node is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"node {action.target.name} is gone")
    if node.protected:
        return PlanRefusal(
            reason=Reason.PROTECTED, text=f"node {node.name} is marked do-not-disrupt"
        )
    patch: dict[str, Any] = {
        "metadata": {"annotations": {POWER_STATE: state}},
        "spec": {"unschedulable": True if state in SLEEPING else None},
    }
    marked = state not in SLEEPING and any(taint["key"] == RISK for taint in node.taints)
    if marked:  # it is given back whole
        patch["spec"]["taints"] = [dict(taint) for taint in node.taints if taint["key"] != RISK]
    operation = node_patch(node, patch, f"set {node.name} to {state}", versioned=marked)
    if operation is None:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=f"{node.name} is {state} already")
    pods = [pod for pod in facts.pods if not pod.daemon]
    if state in SLEEPING and pods:
        return PlanRefusal(
            reason=Reason.NODE_NOT_EMPTY,
            text=f"{node.name} runs {len(pods)} pods; only an empty node sleeps",
        )
    return OperationPlan(
        operations=(operation,), text=operation.text, direction="off" if state in SLEEPING else "on"
    )
