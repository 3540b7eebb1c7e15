"""NodeResourcesFit: enough free of everything that a pod requests, and its scoring strategies.

Upstream: pkg/scheduler/framework/plugins/noderesources/{fit,resource_allocation,least_allocated,
most_allocated,requested_to_capacity_ratio}.go. Integer arithmetic throughout, as there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from twin.config.scheduling import SchedulerConfig
from twin.needs import BASIC_RESOURCES, PodNeeds
from twin.records import PodRecord
from twin.scheduling.masks import either
from twin.scheduling.node_table import Flags, Ints, NodeTable

MAX_SCORE = 100
PODS_ROW = BASIC_RESOURCES.index("pods")
TOO_MANY = "Too many pods"


def shortage(resource: str) -> str:
    """Return the scheduler's words for a resource of which too little is free."""
    return TOO_MANY if resource == "pods" else f"Insufficient {resource}"


def fitting(nodes: NodeTable, needs: PodNeeds) -> Flags:
    """Return which rows have enough free of everything that the pod requests."""
    requested = requested_amounts(nodes, needs)  # first: it may add lines to the table
    count, free = nodes.count, nodes.free
    mask: Flags | None = None
    for row, amount in requested:
        enough = free[row, :count] >= amount
        mask = enough if mask is None else np.logical_and(mask, enough, out=mask)
    assert mask is not None, "every pod asks for one pod slot"
    return mask


def requested_amounts(
    nodes: NodeTable, needs: PodNeeds
) -> list[tuple[int, int]] | tuple[tuple[int, int], ...]:
    """Return (resource row, amount) of everything a pod requests."""
    if not needs.extra:
        return needs.asked
    return [*needs.asked, *((nodes.resource_row(name), amount) for name, amount in needs.extra)]


class FitReport:
    """Why rows do not fit: which lack what, and which could never have it."""

    def __init__(self, nodes: NodeTable, needs: PodNeeds, freed: Ints | None = None) -> None:
        """`freed` adds amounts by basic resource and row: what victims would leave."""
        count = nodes.count
        self.lacking: list[tuple[str, Flags]] = []
        self.hopeless = np.zeros(count, np.bool_)
        for row, amount in requested_amounts(nodes, needs):
            free = nodes.free[row, :count]
            if freed is not None and row < len(freed):
                free = free + freed[row]
            short = free < amount
            self.lacking.append((shortage(nodes.resources[row]), short))
            if row != PODS_ROW:
                self.hopeless |= short & (nodes.offered[row, :count] < amount)

    def refused(self) -> Flags:
        """Return the rows that lack anything."""
        return either(short for _, short in self.lacking)

    def count(self, among: Flags) -> Counter[str]:
        """Return how many of the rows `among` lack each resource."""
        counted = ((reason, int(np.count_nonzero(short & among))) for reason, short in self.lacking)
        return Counter({reason: number for reason, number in counted if number})


class FitTrial:
    """One node's free amounts while pods are taken from it and put back in thought."""

    def __init__(self, nodes: NodeTable, needs: PodNeeds, row: int) -> None:
        self._nodes = nodes
        self._asked = list(requested_amounts(nodes, needs))
        self._free = {line: int(nodes.free[line, row]) for line, _ in self._asked}

    def shift(self, pod: PodRecord, sign: int) -> None:
        """Put a pod on the node (1) or take it away (-1)."""
        free = self._free
        for line, amount in requested_amounts(self._nodes, pod.reserved_needs):
            if line in free:
                free[line] -= sign * amount

    def reasons(self) -> tuple[str, ...]:
        """Return what is short now."""
        free = self._free
        short = [line for line, amount in self._asked if free[line] < amount]
        return tuple(shortage(self._nodes.resources[line]) for line in short) if short else ()


def fit_scores(nodes: NodeTable, rows: Ints, needs: PodNeeds, config: SchedulerConfig) -> Ints:
    """Return the score of each row by the strategy that is set, 0 to 100."""
    of = _STRATEGIES[config.strategy]
    points = weights = None
    for resource, weight in config.scored_resources:
        line = nodes.resources.index(resource) if resource in nodes.resources else None
        if line is None:
            continue
        offered, requested = _allocation(nodes, rows, needs, line)
        if requested is None:
            continue  # an extended resource that the pod does not request
        score = of(requested, offered, config) * weight
        counted = np.where(offered > 0, weight, 0) if not offered.all() else weight
        if config.strategy == "RequestedToCapacityRatio":
            counted = np.where(score > 0, counted, 0)
        points = score if points is None else points + score
        weights = counted if weights is None else weights + counted
    if points is None or weights is None:
        return np.zeros(len(rows), np.int64)
    if config.strategy == "RequestedToCapacityRatio":
        return np.floor(points / np.maximum(weights, 1) + 0.5).astype(np.int64)
    result: Ints = points // np.maximum(weights, 1)
    return result


def _allocation(
    nodes: NodeTable, rows: Ints, needs: PodNeeds, line: int
) -> tuple[Ints, Ints | None]:
    offered = nodes.offered[line, rows]
    if line < len(nodes.scored):  # cpu and memory, with defaults for pods without requests
        return offered, nodes.scored[line, rows] + needs.scored[line]
    amount = dict(requested_amounts(nodes, needs)).get(line, 0)
    if not amount:
        return offered, None
    return offered, offered - nodes.free[line, rows] + amount


def least_allocated(requested: Ints, offered: Ints, _config: SchedulerConfig | None = None) -> Ints:
    """Return the free part after placement in points, cut to whole ones."""
    points: Ints = np.maximum(offered - requested, 0) * MAX_SCORE // np.maximum(offered, 1)
    return points


def most_allocated(requested: Ints, offered: Ints, _config: SchedulerConfig | None = None) -> Ints:
    """Return the used part after placement in points; an overfull node counts as full."""
    points: Ints = np.minimum(requested, offered) * MAX_SCORE // np.maximum(offered, 1)
    return points


def requested_to_capacity(requested: Ints, offered: Ints, config: SchedulerConfig) -> Ints:
    """Return the shape's value at the utilisation after placement, its score x 10."""
    used = most_allocated(requested, offered)
    points = [(at, score * 10) for at, score in config.ratio_shape]
    result = np.full(len(used), points[-1][1], np.int64)
    for (low_at, low), (high_at, high) in reversed(list(pairwise(points))):
        rise = (high - low) * (used - low_at)
        step = np.abs(rise) // (high_at - low_at) * np.sign(rise)  # Go divides towards zero
        result = np.where(used <= high_at, low + step, result)
    first: Ints = np.where(used <= points[0][0], points[0][1], result)
    return np.where(offered > 0, first, 0)


_STRATEGIES: dict[str, Callable[[Ints, Ints, SchedulerConfig], Ints]] = {
    "LeastAllocated": least_allocated,
    "MostAllocated": most_allocated,
    "RequestedToCapacityRatio": requested_to_capacity,
}
