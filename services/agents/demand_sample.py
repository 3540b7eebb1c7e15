"""What all pods on nodes request, as an agent remembers it by observation. Pure."""

from __future__ import annotations

import math

from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds, rounded
from schemas.view import ObservationView

GIB = 2**30


class DemandSample(DataModel):
    """Requests of all pods on nodes together."""

    time_seconds: Seconds
    cores: Rounded
    memory_gib: Rounded


def demand_sample(view: ObservationView) -> DemandSample:
    """Return what pods request in an observation."""
    nodes = view.nodes
    cores = math.fsum(
        (ratio or 0.0) * cores
        for ratio, cores in zip(nodes.cpu_requested_ratio, nodes.cpu_allocatable_cores, strict=True)
    )
    memory = math.fsum(
        (ratio or 0.0) * size / GIB
        for ratio, size in zip(
            nodes.memory_requested_ratio, nodes.memory_allocatable_bytes, strict=True
        )
    )
    return DemandSample.model_construct(
        time_seconds=view.cluster_time_seconds, cores=rounded(cores), memory_gib=rounded(memory)
    )
