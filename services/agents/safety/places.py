"""How many more pods the cluster may get, and has a place for."""

from __future__ import annotations

import math
from itertools import compress

from schemas.surge import surge_limit
from services.agents.appraisal import PolicyInput, pods_without_capacity

MOST_PODS = 110
"""Pods of one machine at most: the kubelet's default."""
ROUNDING = 1e-4
"""Ratios travel with six decimals, so that a machine that is exactly full may seem to lack a little."""


def surge_pods_left(situation: PolicyInput) -> int:
    """Return how many pods all workloads together may still get beyond their owners' numbers, an autoscaler's maximum
    where a forecast is acted on.
    """
    most = surge_limit(situation.settings.surge_pods, situation.view.totals.pods_running)
    table = situation.view.services
    autoscaled = set()
    if table is not None and situation.settings.forecast:
        autoscaled = set(compress(table.ids, table.autoscaled))
    services = situation.memory.services.items()
    added = (one.surge_pods for name, one in services if name not in autoscaled)
    return most - int(math.fsum(added))


def pods_that_fit(situation: PolicyInput, cores: float | None, memory_bytes: int | None) -> int:
    """Return how many more pods of this size have a place on machines that are awake.

    Pods that wait for capacity, and a spare share for work that is still to come, go before them.
    """
    size = (cores, memory_bytes)
    if (known := situation.places.get(size)) is not None:
        return known
    nodes = situation.view.nodes
    fitting = -pods_without_capacity(situation)
    if cores:
        spare = situation.settings.spare_ratio * math.fsum(nodes.cpu_allocatable_cores)
        fitting -= math.ceil(spare / cores)
    cpu = zip(nodes.cpu_requested_ratio, nodes.cpu_allocatable_cores, strict=True)
    memory = zip(nodes.memory_requested_ratio, nodes.memory_allocatable_bytes, strict=True)
    for ready, schedulable, (cpu_ratio, has_cores), (memory_ratio, has_bytes) in zip(
        nodes.ready, nodes.schedulable, cpu, memory, strict=True
    ):
        if not (ready and schedulable) or cpu_ratio is None or memory_ratio is None:
            continue
        free_cores, free_bytes = (1.0 - cpu_ratio) * has_cores, (1.0 - memory_ratio) * has_bytes
        by_cores = math.floor(free_cores / cores + ROUNDING) if cores else MOST_PODS
        by_memory = math.floor(free_bytes / memory_bytes + ROUNDING) if memory_bytes else MOST_PODS
        fitting += min(by_cores, by_memory, MOST_PODS)
    situation.places[size] = fitting
    return fitting


def finds_machines(situation: PolicyInput) -> bool:
    """Return whether pods without a place get a rented machine, by what is set and by what is seen."""
    settings, pods = situation.settings, situation.view.pods
    return settings.machines_rented and not any(
        (pending or "").startswith("insufficient_") and (waited or 0.0) > settings.rented_seconds
        for pending, waited in zip(pods.pending_class, pods.waiting_seconds, strict=True)
    )
