"""Rates of requests by Service, from what a Prometheus says by code and by bucket of a histogram."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.work import LATENCY_BOUNDS, MOST_SERVICES

FAILED = "5"
"""Codes that begin so are failures."""
UNSTATED_WINDOW_SECONDS = 120.0
"""Taken as covered by a rate whose query does not say."""


@dataclass(frozen=True, slots=True)
class ServiceRate:
    """Requests of one Service in a second."""

    served: float
    failed: float
    within: tuple[float, ...] = ()
    """Of the served, those answered within each of `schemas.work.LATENCY_BOUNDS`; empty: nobody measures it."""


@dataclass(frozen=True, slots=True)
class ServiceRates:
    """Rates by `<namespace>/<name>`, and the seconds that they cover."""

    services: Mapping[str, ServiceRate]
    window_seconds: float


def service_rates(
    requests: Mapping[tuple[str, ...], float],
    durations: Mapping[tuple[str, ...], float],
    window_seconds: float,
) -> ServiceRates:
    """Return rates of requests by namespace, service and code, and of answers by namespace, service and `le`."""
    served: dict[str, float] = defaultdict(float)
    failed: dict[str, float] = defaultdict(float)
    for (namespace, service, code), rate in requests.items():
        kind = failed if code.startswith(FAILED) else served
        kind[f"{namespace}/{service}"] += rate
    buckets: dict[str, dict[float, float]] = defaultdict(dict)
    for (namespace, service, bound), rate in durations.items():
        try:
            buckets[f"{namespace}/{service}"][float(bound)] = rate
        except ValueError:
            continue
    names = sorted(served.keys() | failed.keys())[:MOST_SERVICES]
    services = {
        name: ServiceRate(
            served[name],
            failed[name],
            _within(buckets[name], served[name]) if name in buckets else (),
        )
        for name in names
    }
    return ServiceRates(services, window_seconds or UNSTATED_WINDOW_SECONDS)


def _within(buckets: Mapping[float, float], served: float) -> tuple[float, ...]:
    """Return the rate within each of our bounds: linear inside of a bucket, as `histogram_quantile` has it.

    What is slower than the last finite bound counts as slower than all of ours above it.
    """
    known = [
        (0.0, 0.0),
        *sorted((at, rate) for at, rate in buckets.items() if 0 < at < float("inf")),
    ]
    within = []
    for bound in LATENCY_BOUNDS:
        below = max(point for point in known if point[0] <= bound)
        above = next((point for point in known if point[0] > bound), below)
        share = (bound - below[0]) / (above[0] - below[0]) if above is not below else 0.0
        within.append(min(served, below[1] + share * max(0.0, above[1] - below[1])))
    return tuple(within)
