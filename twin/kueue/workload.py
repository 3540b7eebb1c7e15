"""One Workload as the scheduler sees it: what it requests, or what it holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from twin.config.kueue import PodsReadyConfig
from twin.kueue.amounts import Amounts, amount_of
from twin.kueue.objects import condition, find_row
from twin.kueue.tree import FlavorResource
from twin.records import Object, ObjectRecord
from twin.timestamps import unix

_PLACING = ("nodeSelector", "affinity", "tolerations")


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of one template."""

    name: str
    count: int
    least: int
    """How few pods will do; `count` when none may be missing."""
    each: Amounts
    spec: Object
    """Of one pod, with what admission checks said nothing about yet."""


@dataclass(slots=True, eq=False)
class Info:
    """A Workload of a ClusterQueue."""

    record: ObjectRecord
    queue: str
    priority: int
    since: float
    """What places it among equals, unix seconds."""
    pod_sets: tuple[PodSet, ...] = ()
    shape: bytes = b""
    """Equal for Workloads that request the same for the same kinds of pods; empty: not known."""
    usage: dict[FlavorResource, int] = field(default_factory=dict)
    """What it holds; empty for one that waits."""
    sticky: bool = False
    """Whether it stays at the head of its queue while those that it preempts give way, so that nobody who does not fit
    gets before it and lets them in again (since Kueue 0.15; only with BestEffortFIFO)."""

    @property
    def rank(self) -> tuple[int, float, str, str]:
        """What Workloads are ordered by."""
        return (-self.priority, self.since, self.record.namespace, self.record.name)

    @property
    def place(self) -> tuple[bool, int, float, str, str]:
        """What the order of its queue goes by."""
        return (not self.sticky, *self.rank)

    @property
    def preempts(self) -> bool:
        """Whether others were told to give way to it."""
        found = condition(self.record, "QuotaReserved")
        return found is not None and found["reason"] == "WaitingForPreemptedWorkloads"

    @property
    def evicted(self) -> bool:
        """Whether it is about to give its quota back."""
        found = condition(self.record, "Evicted")
        return found is not None and found["status"] == "True"

    @property
    def reserved_at(self) -> float:
        """When it got its quota, unix seconds; 0 without any."""
        found = condition(self.record, "QuotaReserved")
        return 0.0 if found is None else unix(found["lastTransitionTime"])


def queued_since(record: ObjectRecord, config: PodsReadyConfig | None) -> float:
    """Return what places a Workload among those of its priority: its creation, or its last eviction
    for pods that were not ready or for a check that said Retry.
    """
    found = condition(record, "Evicted")
    if found is not None and found["status"] == "True":
        by_eviction = config is None or config.requeue_by == "Eviction"
        if found["reason"] == "AdmissionCheck" or (
            found["reason"] == "PodsReadyTimeout" and by_eviction
        ):
            return unix(found["lastTransitionTime"])
    return record.created_at


def shape_of(pod_sets: Iterable[PodSet]) -> bytes:
    """Return a text that is equal for pod sets that every queue treats alike."""
    rows = [
        [one.count, one.least, one.each, *(one.spec.get(field) for field in _PLACING)]
        for one in pod_sets
    ]
    return orjson.dumps(rows, option=orjson.OPT_SORT_KEYS)


def held_quota(record: ObjectRecord) -> dict[FlavorResource, int]:
    """Return what a Workload holds, less what its reclaimable pods gave back."""
    status = record.body.get("status") or {}
    held: dict[FlavorResource, int] = {}
    for row in (status.get("admission") or {}).get("podSetAssignments") or ():
        count = row.get("count") or 1
        spare = find_row(status.get("reclaimablePods"), row["name"])
        left = max(0, count - (0 if spare is None else spare["count"]))
        for resource, text in (row.get("resourceUsage") or {}).items():
            flavor = (row.get("flavors") or {}).get(resource)
            if flavor is not None:
                key = (flavor, resource)
                held[key] = held.get(key, 0) + amount_of(resource, text) // count * left
    return held
