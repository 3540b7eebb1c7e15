"""Requests of a Service between two looks, by how they ended. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from schemas.work import LATENCY_BOUNDS, ServiceCounters


class Requests(NamedTuple):
    """How many requests there were; expected numbers in the twin, so they may be fractions."""

    bad: float
    """Failed, lost or late."""
    every: float
    lost: float
    """Ended with a pod or a machine, or met no pod that was ready: no sign that ready pods have too much to do."""
    served: float
    """Answered, in time or late."""


@lru_cache(maxsize=256)  # several agents of one process ask the same
def requests_between(
    before: ServiceCounters, now: ServiceCounters, slo_latency_seconds: float
) -> Requests:
    """Return the requests since an earlier look; counters that fell began anew."""
    place = LATENCY_BOUNDS.index(slo_latency_seconds)

    def late(counters: ServiceCounters) -> float:
        return counters.served - counters.served_within[place] if counters.served_within else 0.0

    def lost(counters: ServiceCounters) -> float:
        return counters.lost + (counters.refused or 0.0)

    falls = any(getattr(now, name) < getattr(before, name) for name in ("served", "failed", "lost"))
    earlier = before
    if falls:
        earlier = ServiceCounters(service=now.service, served=0.0, failed=0.0, lost=0.0)
    served = now.served - earlier.served
    failed = now.failed - earlier.failed + now.lost - earlier.lost
    bad = failed + max(0.0, late(now) - late(earlier))
    return Requests(
        max(0.0, bad), max(0.0, served + failed), max(0.0, lost(now) - lost(earlier)), served
    )


def bad_shares(bad: float, every: float, lost: float, now: Requests) -> tuple[float, float]:
    """Return which share of two steps' requests was bad, and which was lost; the first three are of the step before."""
    both = every + now.every
    if both <= 0.0:
        return 0.0, 0.0
    return (bad + now.bad) / both, (lost + now.lost) / both
