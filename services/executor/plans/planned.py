"""A plan: operations with their ends, or a refusal with its reason."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from schemas.model import DataModel
from schemas.numbers import Count
from schemas.outcome import Operation, Verb
from schemas.reasons import Reason
from services.executor.facts import Facts, NodeFacts, WorkloadFacts
from services.executor.plans.taints import Taint, has_taint


class Surge(DataModel):
    """How far a plan goes beyond what a workload's owner asked for."""

    workload: str
    base: Count
    """Replicas that the workload had before we raised it first."""
    replicas: Count
    """Replicas that it gets."""
    other_pods: Count
    """Pods that raises of ours on other workloads add."""

    @property
    def added_pods(self) -> int:
        """Pods that this plan's raise adds."""
        return max(0, self.replicas - self.base)


class OperationPlan(DataModel):
    """Operations in the order in which they are applied."""

    operations: tuple[Operation, ...]
    text: str
    direction: str = ""
    """Which way it moves its target; `undone_by` names the opposite."""
    workloads: tuple[str, ...] = ()
    """Workloads that it changes or moves."""
    missing_replicas: dict[str, Count] = {}
    """Of Deployments whose pods it moves: replicas wanted but not ready now."""
    means: str = ""
    """By which of several means it is done (`resize`, `taint`)."""
    surge: Surge | None = None
    """Set where it raises a workload's replicas to a number."""


class PlanRefusal(DataModel):
    """Why there is nothing to apply."""

    reason: Reason
    text: str


OPPOSITE = {"off": "on", "on": "off", "close": "open", "open": "close", "up": "down", "down": "up"}
"""Directions that undo each other."""


def node_patch(node: NodeFacts, patch: dict[str, Any], text: str) -> Operation | None:
    """Return a merge patch of a node with its undo; None when the node is so already."""
    current = node_state(node)
    if apply_merge_patch(current, patch) == current:
        return None
    return Operation(
        verb=Verb.PATCH,
        resource="nodes",
        name=node.name,
        uid=node.uid,
        patch=canonical_json(patch),
        undo=canonical_json(undo_patch(current, patch)),
        text=text,
    )


def node_state(node: NodeFacts) -> dict[str, Any]:
    """Return the fields of a node that patches touch, as the API shows them."""
    spec = {"unschedulable": True} if node.unschedulable else {}
    return {"metadata": {"annotations": dict(node.annotations)}, "spec": spec}


def change_taints(
    node: NodeFacts, text: str, *, add: Sequence[Taint] = (), remove: Sequence[Taint] = ()
) -> Operation | None:
    """Return the write that adds and removes taints of ours; None when the node is so already."""
    missing = [dict(one) for one in add if not has_taint(node.taints, one)]
    present = [dict(one) for one in remove if has_taint(node.taints, one)]
    if not missing and not present:
        return None
    return Operation(
        verb=Verb.TAINT,
        resource="nodes",
        name=node.name,
        uid=node.uid,
        patch=canonical_json({"add": missing, "remove": present}),
        undo=canonical_json({"add": present, "remove": missing}),
        text=text,
    )


def workload_patch(
    workload: WorkloadFacts, patch: dict[str, Any], undo: dict[str, Any], text: str
) -> Operation:
    """Return a merge patch of a workload, tied to the version that was read."""
    return Operation(
        verb=Verb.PATCH,
        resource="jobs" if workload.kind == "Job" else "deployments",
        namespace=workload.namespace,
        name=workload.name,
        uid=workload.uid,
        resource_version=workload.resource_version,
        patch=canonical_json(patch),
        undo=canonical_json(undo),
        text=text,
    )


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """Return the result of a JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), value)
    return result


def undo_patch(current: Any, patch: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch that gives back what `patch` changes."""
    undo: dict[str, Any] = {}
    for name, value in patch.items():
        before = current.get(name) if isinstance(current, dict) else None
        undo[name] = undo_patch(before or {}, value) if isinstance(value, dict) else before
    return undo


def canonical_json(value: Any) -> str:
    """Write JSON in one way only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def node_of(facts: Facts, name: str) -> NodeFacts | PlanRefusal:
    """Return the node that a plan is about; a refusal where it is gone or may not be disturbed."""
    node = facts.node
    if node is None:
        return PlanRefusal(reason=Reason.TARGET_GONE, text=f"node {name} is gone")
    if node.protected:
        text = f"node {node.name} is marked do-not-disrupt"
        return PlanRefusal(reason=Reason.PROTECTED, text=text)
    return node
