"""Template of a plan: copy it, name it after the action, and register it in `plans/__init__.py`.

Say what is changed, to which absolute end, how it is taken back, and what it costs whom.
"""

from __future__ import annotations

from schemas.actions import Action
from schemas.reasons import Reason
from services.executor.facts import Facts
from services.executor.plans.planned import OperationPlan, PlanRefusal, node_patch
from services.executor.settings import ExecutorSettings


def plan(action: Action, facts: Facts, settings: ExecutorSettings) -> OperationPlan | PlanRefusal:
    """Mark the target node with an annotation; taken back by removing it; costs nobody anything."""
    del settings
    if facts.node is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"node {action.target.name} is gone")
    operation = node_patch(
        facts.node, {"metadata": {"annotations": {"example.dev/mark": "yes"}}}, "mark the node"
    )
    if operation is None:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text="the node is marked already")
    return OperationPlan(operations=(operation,), text="mark the node", direction="mark")
