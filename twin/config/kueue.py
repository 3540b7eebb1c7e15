"""Settings of Kueue: what its Configuration object says, with its own defaults.

Fields and defaults: apis/config/v1beta2 of kubernetes-sigs/kueue, and setup_wait_for_pods_ready.md of its pages
(August 2026, v0.20).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

RequeueBy = Literal["Eviction", "Creation"]


@dataclass(frozen=True, slots=True)
class PodsReadyConfig:
    """`waitForPodsReady`: how long a job's pods may take to be ready."""

    timeout_seconds: float = 1_800.0
    """From admission until all pods are ready."""
    recovery_seconds: float | None = 1_800.0
    """From the loss of a pod until all are ready again; None: as long as it takes."""
    block_admission: bool = False
    """Whether nothing else is admitted until then."""
    requeue_by: RequeueBy = "Eviction"
    """Which time places an evicted Workload in its queue."""
    backoff_limit: int | None = None
    """Evictions after which a Workload is deactivated; None: it is tried for ever."""
    backoff_base_seconds: int = 60
    """First delay before an evicted Workload is queued again, doubled each time."""
    backoff_most_seconds: int = 3_600
    """Longest of these delays."""


@dataclass(frozen=True, slots=True)
class Transformation:
    """What a requested resource counts as."""

    resource: str
    kept: bool
    """Whether it also counts as itself (strategy Retain)."""
    outputs: tuple[tuple[str, str], ...]
    """(resource, quantity for each unit)."""


@dataclass(frozen=True, slots=True)
class KueueConfig:
    """Whether Kueue is there, and how it is configured."""

    served: bool = False
    """Off: neither its kinds nor its controllers are there."""
    every_job: bool = False
    """`manageJobsWithoutQueueName`: whether Jobs without a queue are held as well."""
    unmanaged_namespaces: tuple[str, ...] = ("kube-system", "kueue-system")
    """What `managedJobsNamespaceSelector` leaves out."""
    pods_ready: PodsReadyConfig | None = None
    """None: readiness of pods is not looked at."""
    excluded_prefixes: tuple[str, ...] = ()
    """`resources.excludeResourcePrefixes`: resources that need no quota."""
    transformations: tuple[Transformation, ...] = field(default_factory=tuple)
    """`resources.transformations`."""
    ignore_undeclared: bool = False
    """`resources.quotaCheckStrategy: IgnoreUndeclared`."""
    keep_finished_seconds: float | None = None
    """`objectRetentionPolicies.workloads.afterFinished`; None: as long as their Jobs."""
