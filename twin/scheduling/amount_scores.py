"""NodeResourcesFit and NodeResourcesBalancedAllocation together, with their default settings.

The same numbers as `fit_scores` (LeastAllocated over CPU and memory) plus `balanced_scores`, in
half the time: every pod needs them, and most pods need nothing else.
"""

from __future__ import annotations

import numpy as np

from twin.behaviour.node_table import Ints, NodeTable
from twin.scheduling.needs import PodNeeds


def amount_scores(nodes: NodeTable, rows: Ints, needs: PodNeeds) -> Ints:
    """Return the sum of both scores by row, for nodes that all offer CPU and memory."""
    where = _range(rows)
    offered = nodes.offered[:2, where]
    left = offered - nodes.scored[:, where]
    left -= needs.scored_column
    np.maximum(left, 0, out=left)
    left *= 100
    left //= offered
    points: Ints = (left[0] + left[1]) // 2
    if not needs.amounts[0] and not needs.amounts[1]:
        return points
    used = (offered - nodes.free[:2, where] + needs.amounts_column) / offered
    np.minimum(used, 1.0, out=used)
    apart = np.abs((used[0] - used[1]) / 2.0)
    points += ((1.0 - apart) * 100.0).astype(np.int64)
    return points


def _range(rows: Ints) -> Ints | slice:
    """Return a slice when the rows are one after the other: arrays need no copying then.

    Rows rise, but for one step back where a search went round the end.
    """
    first, last = int(rows[0]), int(rows[-1])
    return slice(first, last + 1) if last - first + 1 == len(rows) else rows
