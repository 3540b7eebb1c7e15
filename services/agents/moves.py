"""Moving pods off a node: whether they may move, whether they have a place elsewhere, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.observation import ObservedNodes
from schemas.occupancy import Occupant, OccupiedNode
from services.agents.appraisal import Candidate, PolicyInput
from services.agents.demand_sample import GIB
from services.agents.effects import HOUR
from services.agents.machine_memory import recent_wishes
from services.agents.untouched_targets import epoch_at, is_drawn
from services.agents.value_settings import ValueSettings

RESTART_SECONDS = 30.0
"""How long a pod is away that is moved: our own guess."""
ROUNDING = 1e-4
"""Ratios travel with six decimals, so that a machine that is exactly full may seem to lack a little."""


@dataclass(slots=True)
class FreeNode:
    """Free capacity of a machine to which pods may go."""

    cores: float
    memory_gib: float
    gpus: int
    allocatable_cores: float

    def holds(self, pod: Occupant) -> bool:
        """Say whether a pod fits."""
        return (
            pod.cpu_request_cores <= self.cores + ROUNDING
            and pod.memory_request_bytes / GIB <= self.memory_gib + ROUNDING
            and pod.gpus_requested <= self.gpus
        )

    def take(self, pod: Occupant) -> None:
        """Put a pod here."""
        self.cores -= pod.cpu_request_cores
        self.memory_gib -= pod.memory_request_bytes / GIB
        self.gpus -= pod.gpus_requested


def is_awake(nodes: ObservedNodes, row: int) -> bool:
    """Say whether pods can be placed on a machine."""
    offers = nodes.cpu_allocatable_cores[row] > 0 and nodes.memory_allocatable_bytes[row] > 0
    return offers and nodes.ready[row] and nodes.schedulable[row] and nodes.power_state[row] == "on"


def unrequested_cores(nodes: ObservedNodes, row: int) -> float:
    """Return the cores of a machine that no pod requests."""
    return (1.0 - (nodes.cpu_requested_ratio[row] or 0.0)) * nodes.cpu_allocatable_cores[row]


def unrequested_gib(nodes: ObservedNodes, row: int) -> float:
    """Return the GiB of a machine that no pod requests."""
    return (
        (1.0 - (nodes.memory_requested_ratio[row] or 0.0))
        * nodes.memory_allocatable_bytes[row]
        / GIB
    )


def disruptions_left(situation: PolicyInput) -> int:
    """Return how many more machines may be emptied or put to sleep now."""
    settings, now = situation.settings, situation.view.cluster_time_seconds
    used = recent_wishes(situation.memory.machines.disrupted, now, settings.budget_seconds)
    return math.ceil(settings.budget_ratio * len(situation.view.nodes)) - len(used)


def is_counted(situation: PolicyInput, name: str) -> bool:
    """Say whether a machine is among those that were disrupted within the budget's window."""
    now, settings = situation.view.cluster_time_seconds, situation.settings
    return name in recent_wishes(situation.memory.machines.disrupted, now, settings.budget_seconds)


def open_places(situation: PolicyInput, without: str) -> dict[str, FreeNode]:
    """Return the machines to which pods of the node `without` could go, by name.

    Those that are about to go, are being emptied or are closed by taints are none.
    """
    nodes, occupancy = situation.view.nodes, situation.view.occupancy
    assert occupancy is not None
    going = (node.node for node in occupancy.nodes if node.notices)
    shut = {without, *going, *occupancy.closed, *occupancy.marked}
    shut |= recent_wishes(
        situation.memory.machines.disrupted,
        situation.view.cluster_time_seconds,
        situation.settings.settle_seconds,
    )
    return {
        name: FreeNode(
            unrequested_cores(nodes, row),
            unrequested_gib(nodes, row),
            occupancy.free_gpus.get(name, 0),
            nodes.cpu_allocatable_cores[row],
        )
        for row, name in enumerate(nodes.ids)
        if name not in shut and is_awake(nodes, row)
    }


def unplaceable(pods: Iterable[Occupant], places: Mapping[str, FreeNode]) -> Occupant | None:
    """Return a pod that would have no place when all are moved; None: all fit.

    The largest goes first, each to the emptiest machine, as the scheduler does by default.
    """
    for pod in sorted(pods, key=lambda pod: (-pod.gpus_requested, -pod.cpu_request_cores, pod.pod)):
        fitting = [
            place
            for name, place in places.items()
            if place.holds(pod) and (pod.places is None or name in pod.places)
        ]
        if not fitting:
            return pod
        max(fitting, key=lambda place: place.cores / max(place.allocatable_cores, 1e-9)).take(pod)
    return None


def why_kept(situation: PolicyInput, node: OccupiedNode) -> str:
    """Return why the pods of a node are not moved now; empty where nothing speaks against it."""
    if node.kept_by:
        return node.kept_by
    return next((why for pod in node.pods if (why := why_pod_kept(situation, pod))), "")


def movable(situation: PolicyInput, pods: Iterable[Occupant]) -> list[Occupant]:
    """Return the pods that may be moved, whatever becomes of their Services."""
    watched = situation.view.namespaces
    return [pod for pod in pods if not pod.kept_by and (not watched or pod.pod.startswith(watched))]


def why_pod_kept(situation: PolicyInput, pod: Occupant) -> str:
    """Return why a pod is not moved now; empty where nothing speaks against it."""
    view = situation.view
    namespace = pod.pod.partition("/")[0]
    if pod.kept_by:
        return pod.kept_by
    if view.namespaces and not namespace.startswith(view.namespaces):
        return f"namespace {namespace} is not watched"
    if pod.started_time_seconds is None:
        return "a pod is not ready yet"
    services = [one for one in situation.memory.services.values() if one.workload == pod.workload]
    limit = situation.settings.slo_bad_ratio
    for service in services:
        if service.bad_ratio > limit or service.ready < service.wanted:
            return "its Service violates its objective, or lacks replicas"
        if service.ready < 2:
            return "its Service has no other replica"
    return ""


def lost_core_hours(situation: PolicyInput, pod: Occupant) -> float:
    """Return the CPU-hours of a Job that moving its pod throws away, had it used all that it requests."""
    if "/Job/" not in pod.workload or pod.started_time_seconds is None:
        return 0.0
    ran = max(0.0, situation.view.cluster_time_seconds - pod.started_time_seconds)
    if pod.checkpoint_seconds is not None:
        ran = min(ran, pod.checkpoint_seconds)
    return ran / HOUR * pod.cpu_request_cores


def moving_costs(situation: PolicyInput, pods: Iterable[Occupant]) -> dict[str, float]:
    """Return what moving pods costs, by component of the outcome score; positive amounts."""
    settings, every = situation.settings, list(pods)
    lost = math.fsum(lost_core_hours(situation, pod) for pod in every)
    costs = moved_pods_cost(settings, len(every))
    return {**costs, "job_cpu_lost": lost * settings.job_cpu_hour_lost}


def moved_pods_cost(settings: ValueSettings, pods: int) -> dict[str, float]:
    """Return what moving so many pods costs, whatever they run."""
    waiting = RESTART_SECONDS / HOUR * settings.waiting_pod_hour
    return {"evictions": pods * settings.eviction, "waiting": pods * waiting}


def up_to_the_first_touched(
    situation: PolicyInput, gaining: list[Candidate]
) -> tuple[Candidate, ...]:
    """Return what gains most of those that the draw does not leave untouched, after better ones that it does."""
    settings = situation.settings
    epoch = epoch_at(situation.view.cluster_time_seconds, settings)
    chosen = []
    for one in sorted(gaining, key=lambda one: (-one.effect.net, one.action.target.name)):
        chosen.append(one)
        target = one.action.target
        if not is_drawn(settings.untouched_seed, target, epoch, settings.untouched_ratio):
            break
    return tuple(chosen)
