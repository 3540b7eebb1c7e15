"""NodeResourcesBalancedAllocation: nodes score higher the closer their used parts are together.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go (v1.33):
100 x (1 - standard deviation of requested / allocatable), by real requests; pods that request
none of the resources are not scored.
"""

from __future__ import annotations

import numpy as np

from twin.needs import PodNeeds
from twin.scheduling.node_resources_fit import requested_amounts
from twin.scheduling.node_table import Floats, Ints, NodeTable


def balanced_scores(
    nodes: NodeTable, rows: Ints, needs: PodNeeds, resources: tuple[str, ...]
) -> Ints | None:
    """Return 0 to 100 by row, or None for a pod that requests none of the resources."""
    amounts = dict(requested_amounts(nodes, needs))
    lines = [nodes.resources.index(name) for name in resources if name in nodes.resources]
    if not any(amounts.get(line) for line in lines):
        return None
    if len(resources) == 2 and len(lines) == 2:
        first, second = (_fraction(nodes, rows, line, amounts.get(line, 0)) for line in lines)
        if first is not None and second is not None:
            return balanced_score(first, second)
    return _deviation_scores(nodes, rows, amounts, lines)


def balanced_score(first: Floats, second: Floats) -> Ints:
    """Return the score of two used parts, whose deviation is half their distance."""
    return ((1.0 - np.abs((first - second) / 2.0)) * 100.0).astype(np.int64)


def _fraction(nodes: NodeTable, rows: Ints, line: int, amount: int) -> Floats | None:
    """Return the used part by row; None when some node offers nothing of it."""
    offered = nodes.offered[line, rows]
    if not offered.all():
        return None
    used: Floats = (offered - nodes.free[line, rows] + amount) / offered
    return np.minimum(used, 1.0)


def _deviation_scores(
    nodes: NodeTable, rows: Ints, amounts: dict[int, int], lines: list[int]
) -> Ints:
    """The general case, one row at a time: nodes may offer different resources."""
    scores = np.zeros(len(rows), np.int64)
    for index, row in enumerate(rows.tolist()):
        parts = []
        for line in lines:
            offered = int(nodes.offered[line, row])
            extended = line > 1 and not amounts.get(line)
            if offered and not extended:
                used = offered - int(nodes.free[line, row]) + amounts.get(line, 0)
                parts.append(min(1.0, used / offered))
        scores[index] = int((1.0 - deviation(parts)) * 100.0)
    return scores


def deviation(parts: list[float]) -> float:
    """Return the standard deviation of the used parts, 0 for fewer than two."""
    if len(parts) == 2:
        return abs((parts[0] - parts[1]) / 2.0)
    if len(parts) < 2:
        return 0.0
    total = 0.0  # added in order, as upstream adds
    for part in parts:
        total += part
    mean, squares = total / len(parts), 0.0
    for part in parts:
        squares += (part - mean) * (part - mean)
    return float(np.sqrt(squares / len(parts)))
