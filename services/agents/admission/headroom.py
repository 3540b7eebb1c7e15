"""Making room: a few pods move to gaps elsewhere, so that a larger one that waits for capacity has a place.

A scheduler that spreads pods leaves a gap on every machine, and a large pod then waits although there is enough room
in all. Worth: the waiting that is left, which is taken to be as long as the pod has waited, times the chance that it
gets the place; less each eviction and the time until the moved pods run again. Nothing is moved where a machine can be
woken or rented, nor a pod whose Service would violate its objective without it, by what was seen of it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from schemas.actions import Evidence, MigrateAction
from schemas.numbers import rounded
from schemas.occupancy import Occupant, OccupiedNode, WaitingPod
from services.agents.appraisal import Candidate, PolicyInput
from services.agents.demand_sample import GIB
from services.agents.effects import HOUR, effect_of
from services.agents.machine_memory import recent_wishes
from services.agents.memory import ServiceMemory
from services.agents.moves import (
    ROUNDING,
    disruptions_left,
    moving_costs,
    open_places,
    unplaceable,
    unrequested_cores,
    unrequested_gib,
    up_to_the_first_touched,
    why_pod_kept,
)
from services.agents.policy import node

BRIEF_RATIO = 1.1
"""A replica bears so many times the rate that it was seen to bear, for half a minute: our own guess."""
TAKEN_RATIO = 0.8
"""Chance that the pod gets the place that was made for it: our own guess."""


def room_for_waiting(situation: PolicyInput) -> tuple[tuple[Candidate, ...], str]:
    """Return the machine that is best relieved for a pod that waits, after better ones that are left untouched by the
    draw; or nothing, and why.
    """
    occupancy = situation.view.occupancy
    if occupancy is None or not occupancy.waiting or not situation.settings.room_pods:
        return (), ""
    if why := _why_never(situation):
        return (), f"no room is made for {occupancy.waiting[0].pod}: {why}"
    why_not: Counter[str] = Counter()
    for waiting in occupancy.waiting:
        gaining = []
        for listed in occupancy.nodes:
            moved, why = _moved(situation, waiting, listed)
            candidate = _relief(situation, waiting, listed, moved) if moved else None
            if candidate is not None and candidate.effect.net > 0.0:
                gaining.append(candidate)
            else:
                why_not[why or "moving pods costs more than its waiting yet"] += 1
        if gaining:
            return up_to_the_first_touched(situation, gaining), ""
    reasons = "; ".join(f"{reason} ({count})" for reason, count in why_not.most_common(3))
    return (), f"no room is made for {occupancy.waiting[0].pod}: {reasons}"


def _why_never(situation: PolicyInput) -> str:
    """Return why nothing is moved now, wherever it is; empty where something may be."""
    settings, now = situation.settings, situation.view.cluster_time_seconds
    occupancy = situation.view.occupancy
    assert occupancy is not None
    waited = now - occupancy.waiting[0].created_time_seconds
    if "sleep" in situation.view.nodes.power_state:
        return "a machine that sleeps can be woken"
    if settings.machines_rented and waited <= settings.rented_seconds:
        return "a machine is rented for it"
    disrupted = situation.memory.machines.disrupted
    if recent_wishes(disrupted, now, settings.settle_seconds):
        return "a machine was relieved a moment ago"
    if len(recent_wishes(disrupted, now, settings.changes_seconds)) >= settings.moves:
        return f"{settings.moves} machines were relieved lately"
    if disruptions_left(situation) <= 0:
        return "the budget of disruptions is used up"
    return ""


def _moved(
    situation: PolicyInput, waiting: WaitingPod, listed: OccupiedNode
) -> tuple[tuple[Occupant, ...], str]:
    """Return the fewest and smallest pods of a machine whose place would let the pod run; or none, and why."""
    settings, now = situation.settings, situation.view.cluster_time_seconds
    machines, nodes = situation.memory.machines, situation.view.nodes
    if listed.notices or listed.kept_by or listed.node not in nodes.ids:
        return (), listed.kept_by or "it is about to go"
    if listed.node in recent_wishes(machines.disrupted, now, settings.rested_seconds):
        return (), "it was relieved lately"
    row = nodes.ids.index(listed.node)
    lacking = (
        waiting.cpu_request_cores - unrequested_cores(nodes, row) - ROUNDING,
        waiting.memory_request_bytes / GIB - unrequested_gib(nodes, row) - ROUNDING,
    )
    stays = {pod.pod: why for pod in listed.pods if (why := _why_it_stays(situation, pod))}
    movable = [pod for pod in listed.pods if pod.pod not in stays]
    moved = _fewest(movable, lacking, settings.room_pods)
    if not moved:
        enough = _fewest(listed.pods, lacking, settings.room_pods)
        reasons = Counter(stays[pod.pod] for pod in enough if pod.pod in stays)
        return (), next(iter(reasons), f"it would not fit where {settings.room_pods} pods moved")
    pod = unplaceable(moved, open_places(situation, listed.node))
    if pod is not None:
        return (), f"no gap is left for a pod of {pod.cpu_request_cores:g} cores"
    return moved, ""


def _fewest(
    pods: Sequence[Occupant], lacking: tuple[float, float], most: int
) -> tuple[Occupant, ...]:
    """Return the fewest pods of different workloads that hold so many cores and GiB, the last as small as may be."""
    largest: dict[str, Occupant] = {}
    for pod in sorted(pods, key=lambda pod: (-_size(pod, lacking), pod.pod)):
        largest.setdefault(pod.workload, pod)
    ranked = list(largest.values())
    for number in range(1, min(most, len(ranked)) + 1):
        first = ranked[: number - 1]
        last = [pod for pod in ranked[number - 1 :] if _hold((*first, pod), lacking)]
        if last:
            smallest = min(last, key=lambda pod: (_size(pod, lacking), pod.pod))
            return (*first, smallest)
    return ()


def _size(pod: Occupant, lacking: tuple[float, float]) -> float:
    """Return how much a pod holds of what is lacking: cores, or memory where there are enough cores."""
    return pod.cpu_request_cores if lacking[0] > 0.0 else pod.memory_request_bytes / GIB


def _hold(pods: Sequence[Occupant], lacking: tuple[float, float]) -> bool:
    cores = math.fsum(pod.cpu_request_cores for pod in pods)
    return (
        cores >= lacking[0]
        and math.fsum(pod.memory_request_bytes for pod in pods) / GIB >= lacking[1]
    )


def _why_it_stays(situation: PolicyInput, pod: Occupant) -> str:
    settings, now = situation.settings, situation.view.cluster_time_seconds
    if kept := why_pod_kept(situation, pod):
        return kept
    if "/Job/" in pod.workload:
        return "a Job would do its work again"
    if now - (pod.started_time_seconds or now) < settings.rested_seconds:
        return f"a pod has run for less than {settings.rested_seconds:g} s"
    moved = recent_wishes(situation.memory.machines.moved, now, settings.rested_seconds)
    if pod.workload in moved:
        return "its workload was moved lately"
    services = situation.memory.services.values()
    behind = [service for service in services if service.workload == pod.workload]
    if not all(_bears_one_less(service) for service in behind):
        return "its Service would lack a replica meanwhile"
    return ""


def _bears_one_less(service: ServiceMemory) -> bool:
    """Say whether the other replicas bear what all of them do now for half a minute, by what was seen."""
    rate = service.rate / max(1, service.ready - 1)
    broken = service.broken_rate or math.inf
    return service.rate == 0.0 or (rate <= BRIEF_RATIO * service.borne_rate and rate < broken)


def _relief(
    situation: PolicyInput, waiting: WaitingPod, listed: OccupiedNode, moved: tuple[Occupant, ...]
) -> Candidate:
    settings, now = situation.settings, situation.view.cluster_time_seconds
    waited = now - waiting.created_time_seconds
    left = min(waited, settings.saving_horizon_seconds)
    overdue = max(0.0, left - max(0.0, settings.overdue_seconds - waited))
    costs = moving_costs(situation, moved)
    gained = TAKEN_RATIO * left / HOUR * settings.waiting_pod_hour
    gained_late = TAKEN_RATIO * overdue / HOUR * settings.overdue_pod_hour
    terms = {name: -amount for name, amount in costs.items()}
    terms["waiting"] += gained
    terms["overdue"] = gained_late
    # An exponential rest of the waiting spreads by its mean; whether the place is taken adds a little.
    effect = effect_of(
        terms, settings.saving_horizon_seconds, settings, spread=gained + gained_late
    )
    long = Evidence(
        name="waited_seconds", value=rounded(waited), comparison=">", threshold=0.0,
        subject=waiting.pod, holds=True, signal="pods",
    )  # fmt: skip
    names = " and ".join(pod.pod for pod in moved)
    text = (
        f"{waiting.pod} has waited {waited:.0f} s for {waiting.cpu_request_cores:g} cores in one piece; {listed.node} "
        f"has them when {names} {'moves to a gap' if len(moved) == 1 else 'move to gaps'} elsewhere"
    )
    action = MigrateAction(target=node(listed.node), pods=tuple(pod.pod for pod in moved))
    return Candidate(action, effect, (long,), text)
