"""The actions of the three agents by number, in the predecessors' order; each is an action that the product knows.

A: noop, migrate, replicate, throttle, on the node with the highest risk. B: noop, sleep, wake, dvfs, balloon, on the
ready node that is on with the lowest demand; wake on the first one that sleeps. C: admit, queue, reject, deprioritize,
cap, the cap on the fullest node. An action without a target is a noop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.actions import Action, NoopAction
from schemas.view import ObservationView
from services.agents.registry import agents_by_name
from services.agents.settings import AgentSettings

LETTERS: Mapping[str, str] = {"A": "safety", "B": "efficiency", "C": "admission"}
"""The predecessors' names, and ours."""
NOOP = "noop"
KINDS: Mapping[str, Sequence[str]] = {
    "safety": (NOOP, "migrate", "replicate", "throttle"),
    "efficiency": (NOOP, "power_state:sleep", "power_state:on", "dvfs", "memory_balloon"),
    "admission": (
        "admission:admit",
        "admission:queue",
        "admission:reject",
        "admission:deprioritize",
        "resource_cap",
    ),
}
"""`Action.full_kind` of each agent's actions, by its number."""
Ratios = Mapping[str, float]


def number_of(agent: str, action: Action) -> int:
    """Return the number of an action; an admission agent's noop, which has none, is its admit."""
    kinds = KINDS[agent]
    return kinds.index(action.full_kind) if action.full_kind in kinds else 0


def action_of(
    agent: str,
    number: int,
    view: ObservationView,
    risks: Ratios,
    demands: Ratios,
    settings: AgentSettings,
) -> Action:
    """Return what a number stands for now; a noop where nothing could be its target.

    Raises:
        IndexError: the agent has no such action.
    """
    kind = KINDS[agent][number]
    target = _target(agent, kind, view, risks, demands)
    if kind == NOOP or target is None:
        return NoopAction()
    choices = agents_by_name()[agent].code.choices
    assert choices is not None
    offered = choices(target, settings.thresholds(agent))
    return next(one for one in offered if one.full_kind == kind)


def _target(
    agent: str, kind: str, view: ObservationView, risks: Ratios, demands: Ratios
) -> str | None:
    nodes = view.nodes
    rows = list(zip(nodes.ids, nodes.ready, nodes.power_state, strict=True))
    if kind == "power_state:on":
        return next((name for name, _, state in rows if state != "on"), None)
    if agent == "safety":
        return max(risks, key=lambda name: (risks[name], name), default=None)
    if agent == "efficiency":
        awake = [name for name, ready, state in rows if ready and state == "on" and name in demands]
        return min(awake, key=lambda name: (demands[name], name), default=None)
    fullness = {
        name: max(cpu or 0.0, memory or 0.0)
        for name, cpu, memory in zip(
            nodes.ids, nodes.cpu_requested_ratio, nodes.memory_requested_ratio, strict=True
        )
    }
    return max(fullness, key=lambda name: (fullness[name], name), default=None)
