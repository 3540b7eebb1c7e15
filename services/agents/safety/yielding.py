"""Replicas that we added make way: a Service violates its objective while its own pods wait for the room they take.

Worth: the minutes of violation that a place ends, by the chance that the freed room is enough and that the missing
pods end it; less the minutes in which the Service that gives back violates its objective again.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent_registry.appraisal import Candidate, Situation
from agent_registry.memory import ServiceMemory
from schemas.actions import Evidence, ReplicateAction, Target, TargetKind
from schemas.observation import ObservedServices
from schemas.wording import count_text
from services.agents.effects import HOUR, MINUTE, effect_of
from services.agents.lacking import Lack, cured_ratio, lacks_of

RELAPSE_RATIO = 0.05
"""Chance that a Service violates its objective again after replicas were given back: our own guess."""
UNKNOWN_RATIO = 0.5
"""Chance of what nothing was seen of: that fewer replicas do not bear the greatest rate of the last quarter of an hour,
or that pods of a size that is not known fit where others were: our own guess."""


def yields(situation: Situation, table: ObservedServices) -> Iterator[Candidate]:
    """Yield raised Services that gain by going back to their owners' numbers, for the sake of others."""
    lacks = {key: lack for key, lack in lacks_of(situation).items() if lack.worth > 0.0}
    if not lacks:
        return
    neediest = max(lacks.values(), key=lambda lack: (lack.worth, lack.service.workload))
    for row, name in enumerate(table.ids):
        service = situation.memory.services.get(name)
        if service is None or not service.raised or service.workload == neediest.service.workload:
            continue
        cores = table.replica_cpu_cores[row] or 0.0
        yield _yield(situation, service, neediest, cores)


def _yield(situation: Situation, service: ServiceMemory, lack: Lack, pod_cores: float) -> Candidate:
    settings = situation.settings
    given = service.replicas - service.owner_replicas
    freed = given * pod_cores
    enough = min(1.0, freed / lack.cores) if lack.cores > 0.0 else UNKNOWN_RATIO
    relapse = relapse_chance(service, situation)
    minutes = settings.horizon_seconds / MINUTE
    lost = relapse * settings.slo_service_minute * minutes
    hours = settings.horizon_seconds / HOUR
    effect = effect_of(
        {
            "slo_services": enough * lack.worth - lost,
            "waiting": enough * lack.pods * settings.waiting_pod_hour * hours,
        },
        settings.horizon_seconds,
        settings,
        spread=lack.at_stake * lack.cured_spread + lost,
    )
    waits = Evidence(
        name="pods_waiting", value=lack.pods, comparison=">", threshold=0, holds=True,
        subject=lack.service.workload, signal="pods",
    )  # fmt: skip
    text = (
        f"{count_text(lack.pods, 'pod')} of {lack.service.workload} {'waits' if lack.pods == 1 else 'wait'} for room "
        f"while it violates its objective; {service.workload} gives back {given} of {service.replicas} replicas, its "
        f"owner set {service.owner_replicas}"
    )
    target = Target(kind=TargetKind.WORKLOAD, name=service.workload)
    action = ReplicateAction(target=target, replicas=service.owner_replicas)
    return Candidate(action, effect, (waits,), text)


def relapse_chance(service: ServiceMemory, situation: Situation) -> float:
    """Return the chance that a Service violates its objective within the horizon with its owner's number alone.

    One that violates it although its replicas have settled loses nothing by giving them back; one whose replicas are
    new loses what they may yet cure.
    """
    settings = situation.settings
    owner = max(1, service.owner_replicas)
    if service.newest_ratio > settings.slo_bad_ratio:
        age = situation.view.cluster_time_seconds - service.changed_seconds
        if age >= settings.settle_seconds:
            return 0.0
        return cured_ratio(service, situation)[0] * settings.persists_ratio
    broken, borne = service.broken_rate, service.borne_rate
    if broken and service.rate / owner >= broken:
        return settings.persists_ratio
    peak = max(service.rates, default=0.0)
    return RELAPSE_RATIO if peak / owner <= borne else UNKNOWN_RATIO
