"""Demand that Foresail holds back: the mark on a workload, and what it says of the workload's size."""

from __future__ import annotations

import json

HELD = "foresail.dev/held"
"""Annotation on a workload we hold; its value is the former value as JSON."""
MOST_REPLICAS = 1_000_000
"""Anybody may write annotations: a larger number is no former size."""


def replicas_before(annotation: str) -> int:
    """Return the replicas that a held Deployment had; 0 where the annotation is not ours to read."""
    try:
        former = json.loads(annotation)
    except (ValueError, RecursionError):
        return 0
    replicas = former.get("replicas") if isinstance(former, dict) else None
    if type(replicas) is int and 0 <= replicas <= MOST_REPLICAS:
        return replicas
    return 0
