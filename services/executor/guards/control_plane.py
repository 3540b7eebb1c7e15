"""control_plane: nodes that run the cluster itself are never written, and nothing is removed from them."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, found_check


def check(question: Question) -> GuardCheck:
    """Fail when a node that is written, or whose pods are removed, is of the control plane."""
    marked = dict.fromkeys(
        f"node {node.name} is of the control plane ({node.control_plane})"
        for reach in question.reaches
        for node in reach.nodes
        if node.control_plane
    )
    return found_check("control_plane", marked, Reason.CONTROL_PLANE, "nodes")


GUARDS = (Guard("control_plane", Needs.REACH, 20, check, each_write=True),)
