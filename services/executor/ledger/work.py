"""Work counters of an observation, kept as long as an execution may be blamed for a change of it."""

from __future__ import annotations

from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds
from schemas.observation import Observation
from schemas.work import LATENCY_BOUNDS, ServiceCounters

SLOW_SECONDS = 0.5
"""An answer slower than this is bad: the default objective of the outcome score (docs/outcome-score.md)."""
_IN_TIME = LATENCY_BOUNDS.index(SLOW_SECONDS)


class RequestCounts(DataModel):
    """Requests of one Service since its counters began."""

    asked: Rounded
    bad: Rounded
    """Failed, lost, or answered later than `SLOW_SECONDS`."""


class WorkCounts(DataModel):
    """Counters of one observation; none of them falls, but a Service's own when it is made anew."""

    time_seconds: Seconds
    overdue_pod_seconds: Rounded = 0.0
    services: dict[str, RequestCounts] = {}


class WorkStep(DataModel):
    """Change between two measurements."""

    seconds: Seconds
    overdue_pods: float
    """Pods overdue, on average over that time."""
    requests: dict[str, RequestCounts]


def work_counts_of(data: Observation) -> WorkCounts | None:
    """Return what an observation counts; None where it counts no work."""
    if data.work is None:
        return None
    return WorkCounts(
        time_seconds=data.cluster_time_seconds,
        overdue_pod_seconds=data.work.overdue_pod_seconds,
        services={counters.service: _counts(counters) for counters in data.work.services or ()},
    )


def step_between(before: WorkCounts, now: WorkCounts) -> WorkStep | None:
    """Return what happened between two looks; None when no time lies between them."""
    seconds = now.time_seconds - before.time_seconds
    if seconds <= 0:
        return None
    overdue = max(0.0, now.overdue_pod_seconds - before.overdue_pod_seconds)
    requests = {
        service: RequestCounts(
            asked=counts.asked - before.services[service].asked,
            bad=max(0.0, counts.bad - before.services[service].bad),
        )
        for service, counts in now.services.items()
        if service in before.services and counts.asked >= before.services[service].asked
    }
    return WorkStep(seconds=seconds, overdue_pods=overdue / seconds, requests=requests)


def _counts(counters: ServiceCounters) -> RequestCounts:
    in_time = counters.served_within[_IN_TIME] if counters.served_within else counters.served
    return RequestCounts(
        asked=counters.served + counters.failed + counters.lost,
        bad=counters.failed + counters.lost + max(0.0, counters.served - in_time),
    )
