"""control_plane: nodes that run the cluster itself are never written, and nothing is removed from them."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when a node that is written, or whose pods are removed, is of the control plane."""
    marked_nodes = {
        node.name: node.control_plane
        for reach in question.reaches
        for node in reach.nodes
        if node.control_plane
    }
    first = next(iter(marked_nodes), "")
    text = f"node {first} is of the control plane ({marked_nodes[first]})" if marked_nodes else ""
    return guard_check(
        "control_plane",
        passed=not marked_nodes,
        reason=Reason.CONTROL_PLANE,
        measured=len(marked_nodes),
        limit=0,
        unit="nodes",
        text=text,
    )


GUARDS = (Guard("control_plane", Needs.REACH, 20, check, each_write=True),)
