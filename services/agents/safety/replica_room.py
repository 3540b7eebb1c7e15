"""How far the workload behind a Service may grow, and what a replica of it costs. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from schemas.actions import ReplicateAction, Target, TargetKind
from schemas.observation import ObservedServices
from services.agents.appraisal import PolicyInput
from services.agents.demand_sample import GIB
from services.agents.memory import ServiceMemory
from services.agents.safety.places import finds_machines, pods_that_fit
from services.agents.scale_up_memory import is_ineffective

MOST_REPLICAS = 10_000
"""Of one workload; an action can ask for no more."""


@dataclass(frozen=True, slots=True)
class ReplicaRoom:
    """How far the workload of one Service may grow, after those that gain more by a pod."""

    situation: PolicyInput
    table: ObservedServices
    row: int
    """Of the table."""
    surge_pods: int
    """Pods that all workloads together may still get."""
    taken_cores: float = 0.0
    """CPU that the others' new replicas would take."""

    @property
    def name(self) -> str:
        """The Service."""
        return self.table.ids[self.row]

    @property
    def service(self) -> ServiceMemory:
        """Memory of it."""
        return self.situation.memory.services[self.name]

    def limit(self) -> int:
        """Return the most replicas that may be asked for.

        An autoscaler's maximum is its owner's word on how far the workload may grow, so no surge of ours is counted
        below it.
        """
        table, row, service = self.table, self.row, self.service
        settings = self.situation.settings
        autoscaled = table.autoscaled[row]
        if autoscaled and settings.forecast:
            return min(table.most[row], service.wanted + max(0, self._places))
        base = service.base_replicas or service.wanted
        most = min(
            math.floor(base * settings.most_surge),
            service.wanted + max(0, min(self.surge_pods, self._places)),
        )
        return min(most, table.most[row]) if autoscaled else most

    @property
    def _places(self) -> int:
        """Pods of this workload that find a place."""
        table, row = self.table, self.row
        if finds_machines(self.situation):
            return MOST_REPLICAS
        cores = table.replica_cpu_cores[row]
        places = pods_that_fit(self.situation, cores, table.replica_memory_bytes[row])
        return places - (math.ceil(self.taken_cores / cores) if cores else 0)

    @property
    def least_rate(self) -> float:
        """Requests a second of one replica with as many as may be asked for."""
        return self.service.rate / max(1, self.limit())

    @property
    def is_ineffective(self) -> bool:
        """Whether more replicas would not end the violation, by what the newest raise changed."""
        newest = self.service.newest_raise
        least_rate = 0.0 if newest.curing_rate is None else self.least_rate  # which is dear to know
        return is_ineffective(newest, self.service.replica_rate, least_rate)

    @property
    def hourly_cost(self) -> float:
        """Cost of one replica for an hour, in the currency of the settings."""
        table, row, settings = self.table, self.row, self.situation.settings
        gibibytes = (table.replica_memory_bytes[row] or 0) / GIB
        cores = table.replica_cpu_cores[row] or 0.0
        return cores * settings.core_hour + gibibytes * settings.memory_gib_hour


def replicate_action(workload: str, replicas: int) -> ReplicateAction:
    """Return the action that sets a workload's number."""
    target = Target(kind=TargetKind.WORKLOAD, name=workload)
    return ReplicateAction(target=target, replicas=replicas)
