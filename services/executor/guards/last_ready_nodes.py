"""last_ready_nodes: putting a node to sleep must leave enough ready, schedulable nodes."""

from __future__ import annotations

from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck:
    """Fail when sleeping one more node would leave too few."""
    planned = question.planned
    if planned is None or planned.direction != "off":
        return guard_check("last_ready_nodes", passed=True, reason=Reason.LAST_READY_NODES)
    summary = question.state.seen
    left = summary.nodes_available - 1
    limit = max(1, -(-summary.nodes * question.settings.least_ready_ratio // 1))
    text = "" if left >= limit else f"{left} nodes would be left; at least {limit:g} must stay"
    return guard_check(
        "last_ready_nodes",
        passed=left >= limit,
        reason=Reason.LAST_READY_NODES,
        measured=left,
        limit=limit,
        unit="nodes",
        text=text,
    )


GUARDS = (Guard("last_ready_nodes", Needs.PLAN, 80, check),)
