"""Choose how much faster than real time a workload is played.

Problem: at the trace's own pace minutes pass without an arrival, and far too fast every pod is
born and gone between two observations. Guarantee: a whole number from 1 to 60 at which, where
that range allows it, something arrives about every three seconds of wall time.
"""

from __future__ import annotations

SECONDS_BETWEEN_ARRIVALS = 3.0  # wall time: long enough to read, short enough not to look frozen
SLOWEST = 1.0
FASTEST = 60.0  # one cluster minute per second; beyond it short pods vanish between two cycles


def suggest_speed(arrivals_per_hour: float) -> float:
    """Cluster seconds per wall second for a workload with this arrival rate (per cluster hour)."""
    if arrivals_per_hour <= 0:
        return SLOWEST
    wanted = 3600.0 / (arrivals_per_hour * SECONDS_BETWEEN_ARRIVALS)
    return float(round(min(max(wanted, SLOWEST), FASTEST)))
