"""power_state: put an empty node to sleep and hand its machine back, or wake it.

Only a node without pods (DaemonSets aside) sleeps, so no work is lost; it is cordoned first. Who takes the machine
then is `executor.hand_back`: nobody, Cluster Autoscaler, which removes what is cordoned and empty by itself,
Karpenter, whose NodeClaim is deleted, or a command of the operator's. Waking is the undo, where the machine is
still there; it also takes away our own taint, which keeps pods from a node that was emptied.
"""

from __future__ import annotations

from typing import Any

from schemas.actions import PowerStateAction
from schemas.node_annotations import POWER_STATE
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts
from services.executor.plans.migrate import RISK_TAINT
from services.executor.plans.planned import (
    OperationPlan,
    PlanRefusal,
    canonical_json,
    change_taints,
    node_patch,
)
from services.executor.settings import NODE_PLACEHOLDER, ExecutorSettings, HandBack

SLEEPING = frozenset({"sleep", "off"})


def plan(
    action: PowerStateAction, facts: Facts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    """Set the power state and whether pods may be scheduled, then hand the machine back."""
    node, state = facts.node, action.power_state
    if node is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"node {action.target.name} is gone")
    if node.protected:
        return PlanRefusal(
            reason=Reason.PROTECTED, text=f"node {node.name} is marked do-not-disrupt"
        )
    if state not in SLEEPING:
        return _wake(node, state, settings)
    operation = _patch(node, state)
    if operation is None:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=f"{node.name} is {state} already")
    pods = [pod for pod in facts.pods if not pod.daemon]
    if pods:
        return PlanRefusal(
            reason=Reason.NODE_NOT_EMPTY,
            text=f"{node.name} runs {len(pods)} pods; only an empty node sleeps",
        )
    return _hand_back(operation, facts, node, settings)


def _wake(node: NodeFacts, state: str, settings: ExecutorSettings) -> OperationPlan | PlanRefusal:
    """Give a node back whole: awake, open, and without our taint."""
    awake = _patch(node, state)
    liked = change_taints(node, f"let pods prefer {node.name} again", remove=[RISK_TAINT])
    if awake is None and liked is None:
        return PlanRefusal(reason=Reason.ALREADY_IN_STATE, text=f"{node.name} is {state} already")
    woken = _command(node, settings.wake_command, settings.hand_back_command, "wake")
    return OperationPlan(
        operations=tuple(one for one in (woken, awake, liked) if one is not None),
        text=f"set {node.name} to {state}",
        direction="on",
        means=HandBack.COMMAND if woken else "",
    )


def _patch(node: NodeFacts, state: str) -> Operation | None:
    patch: dict[str, Any] = {
        "metadata": {"annotations": {POWER_STATE: state}},
        "spec": {"unschedulable": True if state in SLEEPING else None},
    }
    return node_patch(node, patch, f"set {node.name} to {state}")


def _hand_back(
    cordon: Operation, facts: Facts, node: NodeFacts, settings: ExecutorSettings
) -> OperationPlan | PlanRefusal:
    driver = settings.hand_back
    operations, text = [cordon], cordon.text
    if driver is HandBack.CLUSTER_AUTOSCALER:
        if node.kept_by_autoscaler:
            why = f"{node.name} is kept from Cluster Autoscaler's scale-down by an annotation"
            return PlanRefusal(reason=Reason.PROTECTED, text=why)
        text = f"{text}, for Cluster Autoscaler to remove"
    if driver is HandBack.KARPENTER:
        claim = facts.node_claim
        if claim is None:
            why = f"{node.name} has no NodeClaim: Karpenter did not rent it"
            return PlanRefusal(reason=Reason.NO_MACHINE, text=why)
        text = f"{text} and hand it back to Karpenter"
        deletion = Operation(
            verb=Verb.DELETE,
            resource="nodeclaims",
            name=claim.name,
            uid=claim.uid,
            text=f"delete NodeClaim {claim.name} of {node.name}",
        )
        operations.append(deletion)
    command = hand_back_command(node, settings)
    if driver is HandBack.COMMAND and command is not None:
        operations.append(command)
        text = f"{text} and hand it back by command"
    means = "" if driver is HandBack.NONE else str(driver)
    return OperationPlan(operations=tuple(operations), text=text, direction="off", means=means)


def hand_back_command(node: NodeFacts, settings: ExecutorSettings) -> Operation | None:
    """Return the command that hands a machine back, whose undo wakes it; None: there is none."""
    return _command(node, settings.hand_back_command, settings.wake_command, "hand back")


def _command(
    node: NodeFacts, arguments: tuple[str, ...], undo: tuple[str, ...], what: str
) -> Operation | None:
    if not arguments:
        return None
    return Operation(
        verb=Verb.RUN,
        resource="nodes",
        name=node.name,
        uid=node.uid,
        patch=_filled(arguments, node.name),
        undo=_filled(undo, node.name) if undo else "",
        text=f"{what} {node.name}: run {arguments[0]}",
    )


def _filled(arguments: tuple[str, ...], name: str) -> str:
    return canonical_json([one.replace(NODE_PLACEHOLDER, name) for one in arguments])
