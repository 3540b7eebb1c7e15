"""How requests of Services were served: counts of latencies, by bounds that never change."""

from __future__ import annotations

from twin.serving.backends import Account
from twin.serving.latency import BOUNDS, PROMETHEUS_BUCKETS, SIZE, count_latencies, quantile

__all__ = [
    "BOUNDS",
    "PROMETHEUS_BUCKETS",
    "SIZE",
    "Account",
    "count_latencies",
    "quantile",
]
