"""Cores requested on machines of one size, as series of demand."""

from __future__ import annotations

import math

from schemas.prediction import nodes_series
from schemas.signals import SignalStatus
from schemas.view import ObservationView

ALL_NODES = "nodes/all"


def requested_cores(view: ObservationView) -> dict[str, float]:
    """Return by group of nodes with equal cores and memory what is requested on them, and on all; nothing while the
    signal is missing.
    """
    signal, nodes = view.signal("node_requests"), view.nodes
    if signal is None or signal.status is SignalStatus.MISSING or not nodes.ids:
        return {}
    columns = zip(
        nodes.cpu_requested_ratio,
        nodes.cpu_allocatable_cores,
        nodes.memory_allocatable_bytes,
        strict=True,
    )
    groups: dict[str, list[float]] = {}
    for ratio, cores, size in columns:
        groups.setdefault(nodes_series(cores, size), []).append((ratio or 0.0) * cores)
    sums = {name: math.fsum(parts) for name, parts in groups.items()}
    return {**sums, ALL_NODES: math.fsum(part for parts in groups.values() for part in parts)}
