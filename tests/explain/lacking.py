"""How refusals come about that say what a cluster, or a node, lacks for an action."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from schemas.actions import ActionKind
from schemas.reasons import Reason
from services.cluster import MERGE_PATCH
from services.node_agents import SIMULATED_LABEL
from tests.explain.theatre import Theatre

COMMAND = ("/bin/sh", "-c", "exit 7", "{node}")


async def _sleep(theatre: Theatre) -> None:
    await theatre.order("efficiency", ActionKind.POWER_STATE, "node-0", power_state="sleep")


async def usage_not_known_for_long_enough(theatre: Theatre) -> None:
    """Play a throttle of a node whose pod has just begun."""
    resources = {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}}
    spec = {
        "nodeName": "node-0",
        "containers": [{"name": "c", "image": "a:1", "resources": resources}],
    }
    body = {"metadata": {"name": "web"}, "spec": spec}
    theatre.request("POST", "/api/v1/namespaces/default/pods", json.dumps(body).encode())
    theatre.engine.advance(theatre.engine.now + 20)
    await theatre.order("safety", ActionKind.THROTTLE, "node-0", cpu_cap_ratio=0.5)


async def a_cap_where_pods_may_ask_for_nothing(theatre: Theatre) -> None:
    """Play a cap on a cluster that does not honour annotations, without a LimitRange."""
    theatre.transport.version = "v1.36.0"
    theatre.deploy("web", 1)
    caps = {"cpu_cap_ratio": 0.8, "memory_cap_ratio": 0.8}
    await theatre.order("admission", ActionKind.RESOURCE_CAP, "node-0", **caps)


async def a_clock_limit_that_nobody_would_hold(theatre: Theatre) -> None:
    """Play a clock limit of a node that is not simulated and has no agent."""
    unmarked = json.dumps({"metadata": {"labels": {SIMULATED_LABEL: None}}}).encode()
    theatre.request("PATCH", "/api/v1/nodes/node-0", unmarked, MERGE_PATCH)
    await theatre.order("efficiency", ActionKind.DVFS, "node-0", clock_scale_ratio=0.65)


LACKING: dict[Reason, tuple[Callable[[Theatre], Awaitable[None]], dict[str, Any]]] = {
    Reason.USAGE_UNKNOWN: (usage_not_known_for_long_enough, {}),
    Reason.NO_DEFAULTS: (a_cap_where_pods_may_ask_for_nothing, {}),
    Reason.NO_NODE_AGENT: (a_clock_limit_that_nobody_would_hold, {}),
    Reason.NO_MACHINE: (_sleep, {"hand_back": "karpenter"}),
    Reason.COMMAND_FAILED: (_sleep, {"hand_back": "command", "hand_back_command": COMMAND}),
}
"""By reason: how it comes about, and the executor's settings for it."""
