"""Reads which nodes of a cluster have a node agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.node_limits import CONDITION, AgentReport
from services.cluster import ClusterRefused, Transport
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Node
from services.node_agents import agent_of

_NODES = list_decoder(Node)


@dataclass(frozen=True, slots=True)
class NodeAgents:
    """The agents of a cluster."""

    nodes: int
    live: Mapping[str, AgentReport]
    """By node, what each says that lives."""
    silent: tuple[str, ...]
    """Nodes whose agent has not been heard of for too long, or says what we cannot read."""


async def read_node_agents(transport: Transport) -> NodeAgents | None:
    """Return the agents of all nodes; None where nodes may not be read.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    try:
        listed = await read_list(transport, "/api/v1/nodes", _NODES)
    except ClusterRefused as error:
        if error.status == 403:
            return None
        raise
    said = {
        node.metadata.name: agent_of(node, listed.cluster_time_seconds)
        for node in listed.items
        if node.condition(CONDITION) is not None
    }
    return NodeAgents(
        nodes=len(listed.items),
        live={name: report for name, report in said.items() if report is not None},
        silent=tuple(sorted(name for name, report in said.items() if report is None)),
    )
