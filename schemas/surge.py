"""How many pods raises may add to a cluster: a bound that agents ask beforehand and the executor enforces."""

from __future__ import annotations

from typing import Final

SURGE_PODS: Final = r"^\d+%?$"
"""A count of pods (`50`), or a share of the running ones (`30%`)."""
LEAST_SURGE_PODS: Final = 10
"""A share allows at least so many, so that a small cluster may act at all."""


def surge_limit(surge_pods: str, pods_running: int) -> int:
    """Return how many pods raises may add together in a cluster of so many running ones."""
    if surge_pods.endswith("%"):
        return max(LEAST_SURGE_PODS, pods_running * int(surge_pods[:-1]) // 100)
    return int(surge_pods)


OWNER_REPLICAS = "foresail.dev/owner-replicas"
"""Annotation on a Deployment (of spec.replicas) or a HorizontalPodAutoscaler (of spec.minReplicas) that we
raised; its value is a `Raise` of the executor as JSON, and it goes away when the owner's number is back."""
