"""Services that violate their objective while pods of theirs wait for a place: what a place is worth to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from agent_registry.appraisal import Situation
from agent_registry.memory import ServiceMemory
from services.agents.effects import MINUTE, share_with_spread

OWN_PRIOR = 3.0
"""Raises of one Service that what was seen of all counts as."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A Service whose pods wait because no machine has room for them."""

    service: ServiceMemory
    pods: int
    """That wait."""
    pod_cores: float
    """Of each; 0 while none was ever placed and it is not listed among those that others could make room for."""
    at_stake: float
    """What its violation costs over the horizon, by the chance that it goes on; 0 while it keeps its objective."""
    cured: float
    """Chance that its missing pods end the violation."""
    cured_spread: float
    """Its standard deviation."""

    @property
    def worth(self) -> float:
        """What a place for all of its pods is expected to save."""
        return self.at_stake * self.cured

    @property
    def cores(self) -> float:
        """What all of its waiting pods ask for."""
        return self.pods * self.pod_cores


def lacks_of(situation: Situation) -> dict[str, Lack]:
    """Return the Services of which pods wait for capacity, by workload."""
    table, settings = situation.view.services, situation.settings
    waiting = _waiting_workloads(situation)
    if table is None or not waiting:
        return {}
    occupancy = situation.view.occupancy
    listed = () if occupancy is None else occupancy.waiting
    sizes = {pod.workload: pod.cpu_request_cores for pod in listed}
    lacks = {}
    for row, name in enumerate(table.ids):
        service = situation.memory.services.get(name)
        if service is None or service.workload not in waiting:
            continue
        missing = _rightful(service) - service.ready
        if missing <= 0:  # what waits is ours, and no one else makes way for that
            continue
        violates = service.bad_ratio > settings.slo_bad_ratio
        cured, spread = cured_ratio(service, situation)
        minutes = settings.horizon_seconds / MINUTE
        lacks[service.workload] = Lack(
            service,
            pods=min(waiting[service.workload], missing),
            pod_cores=table.replica_cpu_cores[row] or sizes.get(service.workload, 0.0),
            at_stake=settings.persists_ratio * settings.slo_service_minute * minutes * violates,
            cured=cured,
            cured_spread=spread,
        )
    return lacks


def cured_ratio(service: ServiceMemory, situation: Situation) -> tuple[float, float]:
    """Return the chance that more replicas end this Service's violation, and its standard deviation.

    What was seen of all Services stands for `OWN_PRIOR` raises of this one.
    """
    memory, settings = situation.memory, situation.settings
    of_all, _ = share_with_spread(settings.cured_prior + memory.cures, 10.0 + memory.raises)
    return share_with_spread(OWN_PRIOR * of_all + service.cures, OWN_PRIOR + service.raises)


def claimed_cores(lacks: dict[str, Lack]) -> float:
    """Return what the waiting pods of these Services ask for together."""
    return math.fsum(lack.cores for lack in lacks.values())


def _rightful(service: ServiceMemory) -> int:
    """Return how many replicas it would want without us: its autoscaler may want more than we asked for."""
    ours = service.raised and service.wanted <= service.asked_replicas
    return service.base_replicas if ours else service.wanted


def _waiting_workloads(situation: Situation) -> dict[str, int]:
    """Return how many pods of each workload wait for capacity."""
    pods = situation.view.pods
    waiting: dict[str, int] = {}
    for workload, pending in zip(pods.workload, pods.pending_class, strict=True):
        if (pending or "").startswith("insufficient_"):
            waiting[workload] = waiting.get(workload, 0) + 1
    return waiting
