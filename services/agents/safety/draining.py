"""Machines that are about to go are emptied in time: by a cloud's notice, or a condition that does not get better.

First the replicas that a Service would miss are added elsewhere; once they are ready, or after a minute, the node's
pods are evicted. Worth, by the chance that the machine goes: the evictions that its end brings anyway, the time
until Kubernetes replaces what is on it, and the minutes in which a Service misses replicas; less what moving
costs. A Job that would do more of its work again than is saved stays: it cannot be saved. That a pod failed on
a machine is no notice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from schemas.actions import Evidence, MigrateAction, ReplicateAction, Target, TargetKind
from schemas.effect import Effect
from schemas.numbers import rounded
from schemas.occupancy import Occupant, OccupiedNode
from schemas.wording import count_text
from services.agents.appraisal import Candidate, PolicyInput
from services.agents.effects import HOUR, MINUTE, effect_of
from services.agents.machine_memory import recent_wishes
from services.agents.memory import ServiceMemory
from services.agents.moves import lost_core_hours, movable, moving_costs, open_places, unplaceable
from services.agents.policy import node

ENDS_RATIO = 0.95
"""Chance that a machine goes of which its cloud says so: our own guess."""
FAULT_RATIO = 0.5
"""Chance that a machine goes within the horizon that shows a fault: our own guess."""
UNSEEN_SECONDS = 40.0
"""How long requests go to a machine that is gone: the node monitor's grace period, a default of Kubernetes."""
AWAY_SECONDS = 340.0
"""How long its pods are missed: until then, and 300 s of toleration, a default of Kubernetes."""
SURGE_SECONDS = 60.0
"""How long replicas elsewhere are waited for before the node is emptied: half of a spot notice."""


def drains(situation: PolicyInput, room: int) -> Iterator[Candidate]:
    """Yield what saves the pods of machines that are about to go.

    Args:
        situation: what is seen and remembered.
        room: pods that all workloads together may still get.
    """
    occupancy = situation.view.occupancy
    for listed in () if occupancy is None else occupancy.nodes:
        pods = [] if listed.kept_by else movable(situation, listed.pods)
        if not listed.notices or not pods:
            continue
        adding = tuple(_additions(situation, listed, pods, room))
        if adding:
            yield from adding
        elif not _asked_lately(situation, listed) and not unplaceable(
            pods, open_places(situation, listed.node)
        ):
            yield _draining(situation, listed, pods)


def _asked_lately(situation: PolicyInput, listed: OccupiedNode) -> bool:
    now, settings = situation.view.cluster_time_seconds, situation.settings
    asked = recent_wishes(situation.memory.machines.disrupted, now, settings.settle_seconds)
    return listed.node in asked


def _additions(
    situation: PolicyInput, listed: OccupiedNode, pods: Sequence[Occupant], room: int
) -> Iterator[Candidate]:
    """Yield more replicas for each Service that would miss some, for as long as there is time for that."""
    now = situation.view.cluster_time_seconds
    if now - situation.memory.machines.noticed.get(listed.node, now) >= SURGE_SECONDS:
        return
    here = Counter(pod.workload for pod in pods)
    table = situation.view.services
    for name, service in sorted(situation.memory.services.items()):
        count = here[service.workload]
        if not count or table is None or service.ready - count >= service.owner_replicas:
            continue
        replicas = max(service.replicas, service.owner_replicas + count)
        row = table.ids.index(name)
        most = int(service.owner_replicas * situation.settings.most_surge)
        if table.autoscaled[row]:
            most = min(most, table.most[row])
        if replicas <= most and replicas - service.replicas <= room:
            yield _addition(situation, listed, service, count, replicas)


def _addition(
    situation: PolicyInput, listed: OccupiedNode, service: ServiceMemory, count: int, replicas: int
) -> Candidate:
    settings, chance = situation.settings, _chance(listed)
    missed = settings.slo_service_minute * _missed_minutes(service, count)
    effect = _effect(situation, {"slo_services": chance * missed}, missed, chance)
    target = Target(kind=TargetKind.WORKLOAD, name=service.workload)
    text = (
        f"{listed.node} is about to go ({', '.join(listed.notices)}) with {count} of {service.ready} replicas of "
        f"{service.workload}; {replicas} replicas until others are ready"
    )
    return Candidate(
        ReplicateAction(target=target, replicas=replicas), effect, (_notice(listed),), text
    )


def _draining(situation: PolicyInput, listed: OccupiedNode, pods: Sequence[Occupant]) -> Candidate:
    settings, chance = situation.settings, _chance(listed)
    here = Counter(pod.workload for pod in pods)
    costs = moving_costs(situation, pods)
    lost = math.fsum(lost_core_hours(situation, pod) for pod in pods) * settings.job_cpu_hour_lost
    missed = settings.slo_service_minute * math.fsum(
        _missed_minutes(service, here[service.workload])
        for service in situation.memory.services.values()
        if here[service.workload]
    )
    away = len(pods) * AWAY_SECONDS / HOUR * settings.waiting_pod_hour
    terms = {
        "evictions": chance * costs["evictions"] - costs["evictions"],
        "waiting": chance * away - costs["waiting"],
        "job_cpu_lost": chance * lost - costs["job_cpu_lost"],
        "slo_services": chance * missed,
    }
    effect = _effect(situation, terms, missed + away + lost + costs["evictions"], chance)
    text = (
        f"{listed.node} is about to go ({', '.join(listed.notices)}, {100 * chance:g} % within "
        f"{settings.horizon_seconds:g} s) with {count_text(len(pods), 'pod')} that can be moved"
    )
    return Candidate(MigrateAction(target=node(listed.node)), effect, (_notice(listed),), text)


def _effect(
    situation: PolicyInput, terms: dict[str, float], at_stake: float, chance: float
) -> Effect:
    spread = at_stake * (chance * (1.0 - chance)) ** 0.5
    return effect_of(terms, situation.settings.horizon_seconds, situation.settings, spread=spread)


def _missed_minutes(service: ServiceMemory, count: int) -> float:
    """Return for how long a Service violates its objective when so many of its replicas go with their machine."""
    left = service.ready - count
    too_few = left <= 0 or (service.borne_rate > 0.0 and service.rate / left > service.borne_rate)
    return (AWAY_SECONDS if too_few else UNSEEN_SECONDS) / MINUTE


def _chance(listed: OccupiedNode) -> float:
    """Return the chance that a machine goes: taints are a cloud's word, conditions are named without a slash."""
    return ENDS_RATIO if any("/" in notice for notice in listed.notices) else FAULT_RATIO


def _notice(listed: OccupiedNode) -> Evidence:
    return Evidence(
        name="end_of_node_ratio", value=rounded(_chance(listed)), comparison=">", threshold=0.0, holds=True,
        subject=listed.node, signal="nodes",
    )  # fmt: skip
