"""A node whose agent says something, for tests of those who read it."""

from __future__ import annotations

from typing import Any

from schemas.node_annotations import NodeLimit
from schemas.node_limits import AgentReport, LimitReport
from services.node_agent.reports import condition_patch

CLOCK = (NodeLimit.CLOCK_SCALE,)


def agent_status(
    now_seconds: float,
    *limits: LimitReport,
    can: tuple[NodeLimit, ...] = CLOCK,
    heartbeat_seconds: float = 300.0,
) -> dict[str, Any]:
    """Return the patch of a Node's status by an agent that lives at this time of the cluster."""
    report = AgentReport(
        version="0.1.0", can=can, heartbeat_seconds=heartbeat_seconds, limits=limits
    )
    return condition_patch(report, None, now_seconds)
