"""Outcome of requests between two moments, over all Services, from the twin's accounts of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from projections.score.prices import ScorePrices
from twin.port.latencies import BOUNDS, SIZE, Account, quantile

Floats = npt.NDArray[np.float64]
_PRICES = ScorePrices()
SLO_BAD_RATIO = _PRICES.slo_bad_ratio
"""A look at which more of a Service's requests were bad violates its objective: the outcome score's own."""
SLO_SECONDS = _PRICES.slo_latency_seconds
"""A request is bad that failed or took longer."""
_IN_TIME = int(np.searchsorted(BOUNDS, SLO_SECONDS)) + 1
"""Buckets of latency that are in time."""


@dataclass(frozen=True, slots=True)
class _Seen:
    arrived: float
    served: float
    failed: float
    latencies: Floats


@dataclass(slots=True)
class ServedRequests:
    """Sums since the last `reset`; a Service that is removed keeps what it had at the last look."""

    served: float = 0.0
    failed: float = 0.0
    slo_seconds: float = 0.0
    """Service-seconds in which an objective was missed."""
    latencies: Floats = field(default_factory=lambda: np.zeros(SIZE))
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget the sums, but not where the accounts stand."""
        self.served = self.failed = self.slo_seconds = 0.0
        self.latencies = np.zeros(SIZE)

    def look(self, accounts: Mapping[str, Account], seconds: float) -> None:
        """Add what is new in the accounts since the last look, `seconds` ago."""
        for name, account in accounts.items():
            failed = account.timed_out + account.refused + account.lost
            now = _Seen(account.arrived, account.served, failed, account.latencies.copy())
            before = self._seen.get(name)
            if before is None or before.arrived > now.arrived:  # a new Service, or one made again
                before = _Seen(0.0, 0.0, 0.0, np.zeros(SIZE))
            self._add(before, now, seconds)
            self._seen[name] = now
        for name in set(self._seen) - set(accounts):
            del self._seen[name]

    def _add(self, before: _Seen, now: _Seen, seconds: float) -> None:
        served, failed = now.served - before.served, now.failed - before.failed
        latencies = now.latencies - before.latencies
        self.served += served
        self.failed += failed
        self.latencies = self.latencies + latencies
        ended = served + failed
        late = float(latencies[_IN_TIME:].sum())
        if ended > 0.0 and failed + late > SLO_BAD_RATIO * ended:
            self.slo_seconds += seconds

    def metrics(self) -> dict[str, float]:
        """Return the metrics of requests; empty when none came."""
        ended = self.served + self.failed
        if ended <= 0.0:
            return {}
        values = {
            "requests_served": self.served,
            "requests_failed_ratio": self.failed / ended,
            "latency_p50_seconds": quantile(self.latencies, 0.5),
            "latency_p95_seconds": quantile(self.latencies, 0.95),
            "latency_p99_seconds": quantile(self.latencies, 0.99),
            "slo_minutes": self.slo_seconds / 60.0,
        }
        return {name: value for name, value in values.items() if not math.isnan(value)}
