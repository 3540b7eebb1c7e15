"""Builds actions for tests; `tests.builders` offers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter

from schemas.actions import Action, ActionKind, AgentName, Target, TargetKind

ACTION: TypeAdapter[Action] = TypeAdapter(Action)
USUAL_PARAMETERS: Mapping[ActionKind, Mapping[str, Any]] = {
    ActionKind.THROTTLE: {"cpu_cap_ratio": 0.85},
    ActionKind.POWER_STATE: {"power_state": "sleep"},
    ActionKind.DVFS: {"clock_scale_ratio": 0.65},
    ActionKind.MEMORY_BALLOON: {"memory_scale_ratio": 0.75},
    ActionKind.ADMISSION: {"admission": "admit"},
    ActionKind.RESOURCE_CAP: {"cpu_cap_ratio": 0.8, "memory_cap_ratio": 0.8},
    ActionKind.RESIZE: {"cpu_request_cores": 0.5},
}


def make_action(
    agent: AgentName | None = None,
    kind: ActionKind = ActionKind.NOOP,
    target: str = "",
    **parameters: Any,
) -> Action:
    """Return an action; an admission aims at the queue, replicas and sizes at a workload, others at a node.

    Parameters that are not given are those the agents use.
    """
    if kind is ActionKind.NOOP:
        aim = Target(kind=TargetKind.NONE)
    elif kind is ActionKind.ADMISSION:
        aim = Target(kind=TargetKind.QUEUE, name=target or "pending")
    elif "replicas" in parameters or kind is ActionKind.RESIZE:
        aim = Target(kind=TargetKind.WORKLOAD, name=target)
    else:
        aim = Target(kind=TargetKind.NODE, name=target or "node-0")
    given = USUAL_PARAMETERS.get(kind, {}) | parameters
    made: Action = ACTION.validate_python({"agent": agent, "kind": kind, "target": aim, **given})
    return made
