"""Memory of an agent about machines: which it wished to empty or put to sleep, and how long they sleep.

A pure fold of observations and own proposals, part of `services.agents.memory`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from schemas.actions import Action, MigrateAction, PowerStateAction
from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds, rounded
from schemas.view import ObservationView
from services.agents.value_settings import ValueSettings

KEPT_SECONDS = 3_600.0
"""How long a wish is remembered."""
MOST_SLEEP = 4.0
"""A machine is never expected to sleep longer than so many times the guess: machines wake together."""


class MachineMemory(DataModel):
    """Machines as this agent has seen and treated them."""

    disrupted: dict[str, Seconds] = {}
    """Cluster time of the newest wish to empty a node or to put it to sleep, by node."""
    woken: dict[str, Seconds] = {}
    """Cluster time at which a node woke, was wished to be given back, or was seen awake and not ready."""
    moved: dict[str, Seconds] = {}
    """Cluster time of the newest wish to move a workload's pods."""
    marked: dict[str, Seconds] = {}
    """Cluster time at which our taint was first seen on a node that bears it now."""
    noticed: dict[str, Seconds] = {}
    """Cluster time at which a node was first seen to be about to go."""
    asleep: tuple[str, ...] = ()
    asleep_seconds: Rounded = 0.0
    """Node-seconds that were slept."""
    wakes: int = 0
    """Machines that woke."""


def remember_machines(
    memory: MachineMemory, view: ObservationView, elapsed_seconds: float
) -> MachineMemory:
    """Return the memory after an observation, so many seconds after the one before."""
    now, nodes = view.cluster_time_seconds, view.nodes
    asleep = tuple(
        name for name, state in zip(nodes.ids, nodes.power_state, strict=True) if state == "sleep"
    )
    marked = () if view.occupancy is None else view.occupancy.marked
    listed = () if view.occupancy is None else view.occupancy.nodes
    going = [node.node for node in listed if node.notices]
    woke = sorted({*memory.asleep} - {*asleep})
    starting = [
        name
        for name, ready, state in zip(nodes.ids, nodes.ready, nodes.power_state, strict=True)
        if not ready and state == "on"
    ]
    return MachineMemory.model_construct(
        disrupted=_recent(memory.disrupted, now),
        woken=_recent(memory.woken, now) | dict.fromkeys([*woke, *starting], now),
        moved=_recent(memory.moved, now),
        marked={name: memory.marked.get(name, now) for name in marked},
        noticed={name: memory.noticed.get(name, now) for name in going},
        asleep=asleep,
        asleep_seconds=rounded(memory.asleep_seconds + len(memory.asleep) * elapsed_seconds),
        wakes=memory.wakes + len(woke),
    )


def remember_disruptions(
    memory: MachineMemory,
    actions: Iterable[Action],
    view: ObservationView | None,
    now_seconds: float,
) -> MachineMemory:
    """Return the memory after these actions were wished for, as `view` shows their nodes."""
    disrupted, woken, moved = dict(memory.disrupted), dict(memory.woken), dict(memory.moved)
    for action in actions:
        name = action.target.name
        if isinstance(action, MigrateAction) and action.pods != ():
            moved |= dict.fromkeys(sorted(_workloads_moved(action, view)), now_seconds)
            disrupted[name] = now_seconds
        elif isinstance(action, PowerStateAction):
            (woken if action.power_state == "on" else disrupted)[name] = now_seconds
    return memory.model_copy(update={"disrupted": disrupted, "woken": woken, "moved": moved})


def sleep_seconds(memory: MachineMemory, settings: ValueSettings) -> float:
    """Return how long a machine that is put to sleep is expected to sleep.

    The mean of an exponential distribution, by maximum likelihood with those that still sleep counted as
    they are; the setting is one machine that woke after that time.
    """
    guess = settings.saving_horizon_seconds
    return min(MOST_SLEEP * guess, (guess + memory.asleep_seconds) / (1 + memory.wakes))


def recent_wishes(wishes: Mapping[str, float], now_seconds: float, seconds: float) -> set[str]:
    """Return what was wished for within the last `seconds`."""
    return {name for name, at in wishes.items() if now_seconds - at < seconds}


def _recent(wishes: Mapping[str, float], now: float) -> dict[str, float]:
    return {name: at for name, at in wishes.items() if now - at < KEPT_SECONDS}


def _workloads_moved(action: MigrateAction, view: ObservationView | None) -> set[str]:
    listed = () if view is None or view.occupancy is None else view.occupancy.nodes
    pods = (pod for node in listed if node.node == action.target.name for pod in node.pods)
    return {pod.workload for pod in pods if action.pods is None or pod.pod in action.pods}
