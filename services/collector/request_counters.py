"""Requests of Services from rates: counters that never fall, as of a server that counts them.

A sum of pods' counters falls when a pod goes, and what it counted since the last look goes with it. A rate
within Prometheus forgets neither, so requests are the rate times the time between two looks. After a gap the
newest rate tells of its own window alone; what was asked before is not known and not made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from schemas.numbers import rounded
from schemas.snapshot import WorkloadsState
from schemas.work import MOST_SERVICES, ServiceCounters
from services.collector.reading import CycleReads, WorkRead
from services.collector.service_rates import ServiceRate, ServiceRates
from services.collector.work_metrics import WorkMetrics
from services.kube_workloads import Service


class RequestCounters:
    """Adds rates up."""

    def __init__(self) -> None:
        """Begin with none."""
        self._counters: dict[str, ServiceCounters] = {}
        self._counted_seconds: float | None = None

    def resume(self, newest: WorkloadsState) -> None:
        """Go on from what the newest snapshot says."""
        services = None if newest.work is None else newest.work.services
        self._counters = {one.service: one for one in services or ()}
        self._counted_seconds = newest.cluster_time_seconds

    def count(self, rates: ServiceRates, time_seconds: float) -> tuple[ServiceCounters, ...]:
        """Return the counters at a cluster time; the first look begins them."""
        last = time_seconds if self._counted_seconds is None else self._counted_seconds
        seconds = min(max(0.0, time_seconds - last), rates.window_seconds)
        self._counted_seconds = time_seconds
        for name, rate in rates.services.items():
            if name in self._counters or len(self._counters) < MOST_SERVICES:
                self._counters[name] = _added(self._counters.get(name), name, rate, seconds)
        return tuple(self._counters[name] for name in sorted(self._counters))


def _added(
    before: ServiceCounters | None, name: str, rate: ServiceRate, seconds: float
) -> ServiceCounters:
    former = before or ServiceCounters(service=name, served=0.0, failed=0.0, lost=0.0)
    base = former.served_within or (0.0,) * len(rate.within)
    return ServiceCounters(
        service=name,
        served=rounded(former.served + rate.served * seconds),
        failed=rounded(former.failed + rate.failed * seconds),
        lost=former.lost,
        served_within=tuple(
            rounded(one + each * seconds) for one, each in zip(base, rate.within, strict=True)
        )
        if rate.within
        else former.served_within,
    )


def with_requests(
    reading: CycleReads,
    counters: RequestCounters,
    services: Sequence[Service],
    time_seconds: float,
) -> CycleReads:
    """Return the reads with what a Prometheus counts of Services, in place of the embedded cluster's own.

    Args:
        reading: what was read; unchanged where it has no rates.
        counters: where they are added up.
        services: whose selectors say who answers.
        time_seconds: cluster time of the look.
    """
    measured = reading.measured
    if measured is None or measured.rates is None:
        return reading
    counted = counters.count(measured.rates, time_seconds)
    if reading.work is not None and reading.work.metrics is not None:
        metrics = replace(reading.work.metrics, services=counted)
        return replace(reading, work=replace(reading.work, metrics=metrics))
    work = WorkRead(None, WorkMetrics(None, None, counted), tuple(services))
    return replace(reading, work=work)
