"""Which nodes have a node agent, by their condition; pure."""

from __future__ import annotations

from schemas.node_limits import CONDITION, AgentReport, live_report
from services.kube_objects import Node, parse_time

SIMULATED_LABEL = "foresail.dev/simulated"
"""Label of the embedded cluster's nodes, which honour annotations without an agent."""


def agent_of(node: Node, now_seconds: float) -> AgentReport | None:
    """Return what the agent of a node says; None where there is none, or it has been silent for too long."""
    condition = node.condition(CONDITION)
    if condition is None:
        return None
    try:
        heartbeat_seconds = parse_time(condition.last_heartbeat_time or "")
    except ValueError:
        return None
    return live_report(condition.message, heartbeat_seconds, now_seconds)
