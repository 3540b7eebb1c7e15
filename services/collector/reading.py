"""Results of one cycle's reads: items by source, or why a source brought none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from schemas.measured import EnergyPrice, Measured, MeasuredPower
from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.collector.service_rates import ServiceRates
from services.collector.work_metrics import WorkMetrics
from services.kube_budgets import PodDisruptionBudget
from services.kube_objects import KubeStruct, Node, NodeMetrics, Pod
from services.kube_workloads import Autoscaler, Deployment, Job, Service

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class ListRead(Generic[T]):
    """Answer of one source, or why there is none; `items` is empty unless `source.ok`."""

    source: SourceRead
    items: tuple[T, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkRead:
    """Answer of the endpoint of work counters; None when it did not answer."""

    source: SourceRead | None
    """None where a Prometheus said it, whose reads are `CycleReads.measured`."""
    metrics: WorkMetrics | None = None
    services: tuple[Service, ...] = ()
    """Services, whose selectors say whose requests are counted; empty where they could not be listed."""


@dataclass(frozen=True, slots=True)
class MeasuredReads:
    """Reads besides the API server."""

    sources: tuple[SourceRead, ...] = ()
    power: MeasuredPower | None = None
    energy_price: EnergyPrice | None = None
    rates: ServiceRates | None = None
    """Requests of Services; None where nobody counts them."""

    @property
    def published(self) -> Measured | None:
        """Return it as it travels; None where nothing is known."""
        if self.power is None and self.energy_price is None:
            return None
        return Measured(power=self.power, energy_price=self.energy_price)


@dataclass(frozen=True, slots=True)
class CycleReads:
    """Everything read in one cycle."""

    nodes: ListRead[Node]
    pods: ListRead[Pod]
    deployments: ListRead[Deployment]
    jobs: ListRead[Job]
    node_metrics: ListRead[NodeMetrics]
    autoscalers: ListRead[Autoscaler]
    work: WorkRead | None = None
    """None where the cluster has no such counters."""
    budgets: tuple[PodDisruptionBudget, ...] | None = None
    """PodDisruptionBudgets; None where they could not be read."""
    stateful_sets: tuple[Deployment, ...] | None = None
    """StatefulSets, of which a Deployment's fields are read; None where they could not be."""
    measured: MeasuredReads | None = None
    """What a Prometheus or a file says besides; None where none is named."""

    @property
    def sources(self) -> tuple[SourceRead, ...]:
        """All reads, in a fixed order."""
        return (
            self.nodes.source,
            self.pods.source,
            self.deployments.source,
            self.jobs.source,
            self.node_metrics.source,
            self.autoscalers.source,
            *(() if self.work is None or self.work.source is None else (self.work.source,)),
            *(() if self.measured is None else self.measured.sources),
        )


def failed_read(name: str, time_seconds: float, reason: Reason, message: str) -> SourceRead:
    """Return the record of a read that gave nothing."""
    return SourceRead(
        source=name, ok=False, read_time_seconds=time_seconds, reason=reason, message=message[:300]
    )
