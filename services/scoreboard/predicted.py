"""Prediction of the baseline's one-step model about an action.

It is applied to the observation that was judged; its result is paid by the same terms as what was
observed afterwards. Health, completions and deaths are outside the model and stay as they were.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from schemas.actions import (
    Action,
    AdmissionAction,
    DvfsAction,
    MemoryBalloonAction,
    MigrateAction,
    PowerStateAction,
    ReplicateAction,
    ResourceCapAction,
    ThrottleAction,
)
from schemas.observation import ObservedNodes
from schemas.view import ObservationView
from services.agent_rewards import RewardInput

CPU_WEIGHT, MEMORY_WEIGHT = 0.55, 0.35
WATTS_PER_CPU, WATTS_PER_MEMORY = 120.0, 60.0
"""Slopes of the baseline's power model, 80 + 120 cpu + 60 memory."""
MIGRATED_FROM, MIGRATED_TO = (-0.12, -0.10), (0.08, 0.07)
REPLICATED_TO = (0.05, 0.05)
SWITCHED_ON = (0.10, 0.08)
THROTTLED_CPU = 0.85
ASLEEP_CPU, ASLEEP_MEMORY = 0.35, 0.5
QUEUE_STEPS = {"queue": 1, "reject": -1, "admit": -2}


@dataclass(frozen=True, slots=True)
class Load:
    """Requested shares of one node."""

    cpu_ratio: float
    memory_ratio: float

    @property
    def demand_ratio(self) -> float:
        """The baseline's demand of a node."""
        return CPU_WEIGHT * self.cpu_ratio + MEMORY_WEIGHT * self.memory_ratio

    def plus(self, step: tuple[float, float]) -> Load:
        """Return the load after adding `step` (CPU, memory), held between 0 and 1."""
        return Load(_clip_ratio(self.cpu_ratio + step[0]), _clip_ratio(self.memory_ratio + step[1]))


def situation_of(view: ObservationView) -> RewardInput:
    """Return what the terms read of an observation."""
    return RewardInput(
        queue_length=view.totals.queue_length,
        sla_violations=view.totals.sla_violations,
        completed_tasks=view.totals.completed_tasks,
        dead_tasks=sum(not alive for alive in view.pods.alive),
        max_demand_ratio=max(demand_ratios(view.nodes).values(), default=None),
        energy_watts=view.totals.energy_watts,
    )


def demand_ratios(nodes: ObservedNodes) -> dict[str, float]:
    """Return the requested demand by node whose capacity is known."""
    columns = zip(nodes.ids, nodes.cpu_requested_ratio, nodes.memory_requested_ratio, strict=True)
    return {
        name: CPU_WEIGHT * cpu + MEMORY_WEIGHT * memory
        for name, cpu, memory in columns
        if cpu is not None and memory is not None
    }


def predict_situation(
    before: RewardInput, nodes: ObservedNodes | None, action: Action
) -> RewardInput:
    """Return the situation that the model expects after `action`.

    Args:
        before: the situation that was judged.
        nodes: its nodes; None when they are no longer known (the decision came after a newer
            observation), and then only the queue moves.
        action: what was decided.
    """
    changed: dict[str, float | None] = {
        "queue_length": max(0, before.queue_length + _queue_step(action))
    }
    if nodes is None:
        return before.model_copy(update=changed)
    old = _loads(nodes)
    moved = _moved_loads(old, nodes, action)
    demands = demand_ratios(nodes) | {name: load.demand_ratio for name, load in moved.items()}
    watts = math.fsum(
        WATTS_PER_CPU * (load.cpu_ratio - old[name].cpu_ratio)
        + WATTS_PER_MEMORY * (load.memory_ratio - old[name].memory_ratio)
        for name, load in moved.items()
    )
    changed |= {
        "max_demand_ratio": max(demands.values(), default=None),
        "energy_watts": max(0.0, before.energy_watts + watts),
    }
    return RewardInput(**{**before.model_dump(), **changed})


def _queue_step(action: Action) -> int:
    return QUEUE_STEPS.get(action.admission, 0) if isinstance(action, AdmissionAction) else 0


def _loads(nodes: ObservedNodes) -> dict[str, Load]:
    columns = zip(nodes.ids, nodes.cpu_requested_ratio, nodes.memory_requested_ratio, strict=True)
    return {
        name: Load(cpu, memory)
        for name, cpu, memory in columns
        if cpu is not None and memory is not None
    }


def _moved_loads(loads: dict[str, Load], nodes: ObservedNodes, action: Action) -> dict[str, Load]:
    """Return the nodes whose load the action changes."""
    name = action.target.name
    load = loads.get(name)
    if load is None or action.full_kind == "migrate:mark":
        return {}
    if isinstance(action, MigrateAction | ReplicateAction):
        return _shifted_loads(loads, nodes, action)
    return {name: _scaled_load(load, action)}


def _shifted_loads(loads: dict[str, Load], nodes: ObservedNodes, action: Action) -> dict[str, Load]:
    name, migrates = action.target.name, isinstance(action, MigrateAction)
    moved = {name: loads[name].plus(MIGRATED_FROM)} if migrates else {}
    receiver = _least_loaded_node(loads, nodes, name)
    if receiver is not None:
        moved[receiver] = loads[receiver].plus(MIGRATED_TO if migrates else REPLICATED_TO)
    return moved


def _least_loaded_node(loads: dict[str, Load], nodes: ObservedNodes, but: str) -> str | None:
    rows = zip(nodes.ids, nodes.ready, nodes.schedulable, strict=True)
    open_nodes = [name for name, ready, taking in rows if ready and taking and name != but]
    return min(open_nodes, key=lambda name: (loads[name].demand_ratio, name), default=None)


def _scaled_load(load: Load, action: Action) -> Load:
    cpu, memory = load.cpu_ratio, load.memory_ratio
    match action:
        case ThrottleAction():
            return Load(cpu * THROTTLED_CPU, memory)
        case PowerStateAction(power_state="on"):
            return load.plus(SWITCHED_ON)
        case PowerStateAction():
            return Load(cpu * ASLEEP_CPU, memory * ASLEEP_MEMORY)
        case DvfsAction():
            return Load(cpu * action.clock_scale_ratio, memory)
        case MemoryBalloonAction():
            return Load(cpu, memory * action.memory_scale_ratio)
        case ResourceCapAction():
            return Load(min(cpu, action.cpu_cap_ratio), min(memory, action.memory_cap_ratio))
        case _:
            return load


def _clip_ratio(ratio: float) -> float:
    return min(1.0, max(0.0, ratio))
