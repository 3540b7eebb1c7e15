"""control_plane: nodes that run the cluster itself are never written, and nothing is removed from them."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards.question import Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when a node that is written, or whose pods are removed, is of the control plane."""
    found = {
        one.name: one.control_plane
        for reach in question.reaches
        for one in reach.nodes
        if one.control_plane
    }
    first = next(iter(found), "")
    text = f"node {first} is of the control plane ({found[first]})" if found else ""
    return guard_check(
        "control_plane",
        passed=not found,
        reason=Reason.CONTROL_PLANE,
        measured=len(found),
        limit=0,
        unit="nodes",
        text=text,
    )
