"""Times as people read them, each with the clock that it is of.

Cluster time is what the Kubernetes API's objects carry; the simulated cluster's may run faster than
the clock on the wall, or stand still. Wall time is this machine's. Both are written in UTC.
"""

from __future__ import annotations

from schemas.envelope import rfc3339

CLUSTER = "cluster time"
WALL = "wall time"


def clock(at_seconds: float) -> str:
    """Return the time of day, for tables whose heading names the clock."""
    return rfc3339(at_seconds)[11:19]


def cluster_clock(at_seconds: float) -> str:
    """Return the time of day in cluster time, labelled."""
    return f"{clock(at_seconds)} {CLUSTER}"


def cluster_time(at_seconds: float) -> str:
    """Return date and time in cluster time, labelled."""
    return f"{_date_and_time(at_seconds)} {CLUSTER}"


def wall_time(at_seconds: float) -> str:
    """Return date and time in wall time, labelled."""
    return f"{_date_and_time(at_seconds)} UTC {WALL}"


def _date_and_time(at_seconds: float) -> str:
    return rfc3339(at_seconds)[:19].replace("T", " ")
