"""Histograms of latency: fixed bounds, so that any two can be added and quantiles read from sums.

Sixteen bounds a decade from 0.1 ms to 1,000 s, and those of Prometheus' client libraries among them, so
that the buckets of `http_request_duration_seconds` are exact sums.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
PROMETHEUS_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Default buckets of Prometheus' client libraries, seconds."""
_PER_DECADE = 16
_STEPS = [10.0 ** (place / _PER_DECADE) for place in range(-4 * _PER_DECADE, 3 * _PER_DECADE + 1)]
BOUNDS: Floats = np.unique(np.concatenate((np.round(_STEPS, 9), PROMETHEUS_BUCKETS)))
"""Upper bounds in seconds; what is beyond the last is counted behind it."""
SIZE = len(BOUNDS) + 1


def count_latencies(seconds: Floats) -> Floats:
    """Return how many of the latencies fall into each bucket."""
    places = np.searchsorted(BOUNDS, seconds, side="left")
    return np.bincount(places, minlength=SIZE).astype(np.float64)


def counts_of_cdf(below: Floats, count: float) -> Floats:
    """Return how many of `count` requests fall into each bucket, from the share below each bound."""
    steps = np.empty(SIZE)
    steps[0], steps[-1] = below[0], 1.0 - below[-1]
    np.subtract(below[1:], below[:-1], out=steps[1:-1])
    return np.maximum(steps, 0.0) * count


def quantile(counts: Floats, share: float) -> float:
    """Return the latency in seconds below which that share lies; NaN of nothing.

    Within a bucket it is interpolated in the logarithm. Beyond the last bound it is that bound.
    """
    total = float(counts.sum())
    if total <= 0.0:
        return float("nan")
    wanted = share * total
    sums = np.cumsum(counts)
    place = int(np.searchsorted(sums, wanted * (1.0 - 1e-12), side="left"))
    if place >= len(BOUNDS):
        return float(BOUNDS[-1])
    high = float(BOUNDS[place])
    low = float(BOUNDS[place - 1]) if place else high / 2.0
    within = (wanted - float(sums[place] - counts[place])) / float(counts[place])
    return float(low * (high / low) ** min(1.0, max(0.0, within)))
