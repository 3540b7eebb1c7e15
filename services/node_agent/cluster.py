"""What the agent asks of the API server: its own Node, a condition of it, events about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import structlog

from bus.clock import Clock
from schemas.node_limits import CONDITION, AgentReport
from services.cluster import STRATEGIC_PATCH, ClusterRefused, ClusterUnavailable, Transport
from services.event_budget import EventBudget
from services.kube_follow import ClusterTime, FollowedList, FollowTimes, WatchTransport
from services.kube_objects import CPU, FIELD_MANAGER, Node
from services.node_agent.reports import (
    EVENTS_PATH,
    NodeEvent,
    condition_patch,
    event_body,
    removal_patch,
)
from services.quantities import parse_cores

_WRITER = {"fieldManager": FIELD_MANAGER}


class OwnNode:
    """The Node that this agent runs on, as its watch shows it."""

    def __init__(self, name: str, transport: WatchTransport, clock: Clock) -> None:
        """Follow the Node of this name, and no other."""
        self._time = ClusterTime(clock)
        only = {"fieldSelector": f"metadata.name={name}"}
        # One agent a node: their requests are spread by their names.
        self.follower = FollowedList(
            "/api/v1/nodes", Node, transport, clock, self._time, Random(name), FollowTimes(), only
        )

    @property
    def now_seconds(self) -> float | None:
        """The server's time; None before its first answer."""
        return self._time.now()

    @property
    def node(self) -> Node | None:
        """The Node; None where there is none, or it is not known yet."""
        return next(iter(self.follower.index.objects()), None)

    @property
    def annotations(self) -> Mapping[str, str]:
        """What is asked for."""
        return {} if self.node is None else self.node.metadata.annotations

    @property
    def allocatable_cores(self) -> float:
        """What it offers its pods; 0 where it does not say so readably."""
        node = self.node
        try:
            return 0.0 if node is None else parse_cores(node.status.allocatable.get(CPU, "0"))
        except ValueError:
            return 0.0


class NodeVoice:
    """Tells the API server; never raises for what it answers."""

    def __init__(self, name: str, transport: Transport) -> None:
        """Speak of the Node of this name."""
        self._name = name
        self._path = f"/api/v1/nodes/{name}/status"
        self._transport = transport
        self._budget = EventBudget()
        self._log = structlog.get_logger("node-agent")

    async def say_condition(self, report: AgentReport, node: Node, now_seconds: float) -> bool:
        """Write the condition; whether the server took it."""
        patch = condition_patch(report, node.condition(CONDITION), now_seconds)
        return await self._patch(patch)

    async def remove_condition(self) -> bool:
        """Take the condition away; whether the server took it."""
        return await self._patch(removal_patch())

    async def tell(self, told: Iterable[NodeEvent], uid: str, now_seconds: float) -> None:
        """Write events, as far as the Node's budget of events lets them."""
        for one in told:
            self._log.info(one.reason, note=one.note)
            if not self._budget.take(self._name, now_seconds):
                continue
            body = event_body(one, self._name, uid, now_seconds)
            await self._send("POST", EVENTS_PATH, body)

    async def _patch(self, patch: Mapping[str, Any]) -> bool:
        return await self._send("PATCH", self._path, patch)

    async def _send(self, method: Any, path: str, body: Mapping[str, Any]) -> bool:
        try:
            if method == "PATCH":
                await self._transport.request(method, path, _WRITER, body, STRATEGIC_PATCH)
            else:
                await self._transport.request(method, path, _WRITER, body)
        except (ClusterRefused, ClusterUnavailable) as error:
            if not (isinstance(error, ClusterRefused) and error.status == 409):  # told before
                self._log.warning("not taken", path=path, error=str(error)[:300])
                return False
        return True
