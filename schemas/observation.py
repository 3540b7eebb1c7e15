"""Layer 2, observation: typed state with the provenance and age of every signal. Published by the
collector.

Agents and models read this and nothing nearer to the cluster. It names the agents that are expected
to propose.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.actions import AgentName
from schemas.capabilities import MissingCapability
from schemas.frames import FramedData
from schemas.model import DataModel
from schemas.numbers import Count, Ratio, Rounded, Seconds
from schemas.occupancy import Occupancy
from schemas.signals import Signal
from schemas.tables import Table
from schemas.work import WorkCounters

UNHEALTHY_PODS = "unhealthy pods"
"""What people are told `sla_violations` is: pods that are Failed, Pending, Unknown or not ready. A Service that misses
its objective is another number, which agents name as that."""


class ObservedNodes(Table):
    """One row per node; `ids` are node names."""

    ready: tuple[bool, ...] = ()
    schedulable: tuple[bool, ...] = ()
    power_state: tuple[str, ...] = ()
    cpu_allocatable_cores: tuple[Rounded, ...] = ()
    memory_allocatable_bytes: tuple[int, ...] = ()
    cpu_requested_ratio: tuple[Ratio | None, ...] = ()
    """Requests of the pods on the node / allocatable, clipped to 1 (the baseline's cpu_util); None where the node
    offers none, or does not say."""
    memory_requested_ratio: tuple[Ratio | None, ...] = ()
    cpu_used_ratio: tuple[Ratio | None, ...] = ()
    """Metrics Server usage / allocatable; None when either is missing."""
    memory_used_ratio: tuple[Ratio | None, ...] = ()
    pods: tuple[int, ...] = ()
    unhealthy_pods: tuple[int, ...] = ()
    """Failed, Pending, Unknown or not ready pods on the node."""
    restarted_pods: tuple[int, ...] = ()
    power_watts: tuple[Rounded, ...] = ()
    """Measured, or the power model's estimate (signal `power` says which)."""
    clock_scale_ratio: tuple[Rounded, ...] = ()
    memory_scale_ratio: tuple[Rounded, ...] = ()
    cpu_cap_ratio: tuple[Rounded, ...] = ()
    memory_cap_ratio: tuple[Rounded, ...] = ()


class ObservedPods(Table):
    """Pods that need a look; `ids` are `<namespace>/<name>`."""

    node: tuple[str, ...] = ()
    workload: tuple[str, ...] = ()
    phase: tuple[str, ...] = ()
    pending_class: tuple[str | None, ...] = ()
    """A `PendingClass` value for Pending pods."""
    urgency_ratio: tuple[Ratio, ...] = ()
    """The baseline's urgency: 1.0 if Failed, Pending, restarted or not ready, else 0.2, 0 when
    Succeeded.
    """
    restarts: tuple[int, ...] = ()
    """The baseline's queue_priority."""
    alive: tuple[bool, ...] = ()
    """False once the pod has Failed."""
    waiting_seconds: tuple[Seconds | None, ...] = ()
    """How long a Pending pod has waited."""


class ObservedServices(Table):
    """Services whose requests are counted and that one Deployment serves; `ids` are `<namespace>/<name>`."""

    workload: tuple[str, ...] = ()
    """`<namespace>/Deployment/<name>`."""
    wanted: tuple[int, ...] = ()
    """Its spec.replicas."""
    ready: tuple[int, ...] = ()
    autoscaled: tuple[bool, ...] = ()
    """Whether a HorizontalPodAutoscaler scales it."""
    least: tuple[int, ...] = ()
    """The autoscaler's minReplicas; 0 without one."""
    most: tuple[int, ...] = ()
    """The autoscaler's maxReplicas; 0 without one."""
    replica_cpu_cores: tuple[Rounded | None, ...] = ()
    """CPU that one of its pods requests; None while none is placed."""
    replica_memory_bytes: tuple[int | None, ...] = ()


class GivenForecasts(Table):
    """What the source of an observation foresees itself; `ids` are node names."""

    risk_ratio: tuple[Ratio | None, ...] = ()
    demand_ratio: tuple[Ratio | None, ...] = ()


class ClusterTotals(DataModel):
    """The cluster in a few numbers."""

    nodes: Count
    nodes_ready: Count
    nodes_schedulable: Count
    pods_running: Count
    pods_total: Count
    queue_length: Count
    """Pods Pending in the watched namespaces."""
    sla_violations: Count
    """Pods Failed, Pending, Unknown or not ready in the watched namespaces."""
    completed_tasks: Count
    """Succeeded pods without a Job owner plus the sum of Jobs' status.succeeded."""
    pending_by_class: dict[str, int]
    """Pending pods by `PendingClass`."""
    cpu_requested_ratio: Ratio
    """Mean over nodes."""
    memory_requested_ratio: Ratio
    energy_watts: Rounded
    """Sum over nodes of `power_watts`."""
    energy_price: Rounded
    """Per kWh; signal `energy_price` says whose."""


class ObservedState(FramedData):
    """Common fields of every observation of a cluster, whichever of two worlds it is of."""

    TABLES: ClassVar[tuple[str, ...]] = ("nodes", "pods")

    cluster_time_seconds: Seconds
    interval_seconds: Seconds
    """Cluster seconds between two cycles."""
    expected_agents: tuple[AgentName, ...]
    namespaces: tuple[str, ...]
    """Prefixes of the watched namespaces; empty: all."""
    totals: ClusterTotals
    signals: tuple[Signal, ...]
    work: WorkCounters | None = None
    """Outcomes of work so far, as the snapshot counts it; None in recordings from before it did."""
    services: ObservedServices | None = None
    """None where nobody counts requests, and in recordings from before Services were listed."""
    occupancy: Occupancy | None = None
    """Nodes that may be emptied; None in recordings from before they were listed."""
    missing_means: tuple[MissingCapability, ...] = Field(
        default=(), exclude_if=lambda missing: not missing
    )
    """Kinds of action that the executor cannot do, as it said last."""
    given: GivenForecasts | None = Field(default=None, exclude_if=lambda table: table is None)
    """Risk and demand that the source says of nodes: of a trace that is played; None for a cluster."""
    nodes: ObservedNodes | None
    pods: ObservedPods | None

    @property
    def summary(self) -> str:
        """Nodes, pods and the queue."""
        totals = self.totals
        return (
            f"{totals.nodes_ready}/{totals.nodes} nodes ready, {totals.pods_running} running, "
            f"queue {totals.queue_length}, {UNHEALTHY_PODS} {totals.sla_violations}"
        )


class Observation(ObservedState):
    """The cluster as the agents may know it."""

    TYPE: ClassVar[str] = "foresail.observation.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("observation",)
