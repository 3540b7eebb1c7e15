"""NodeResourcesFit and NodeResourcesBalancedAllocation together, with their default settings.

The same numbers as `fit_scores` (LeastAllocated over CPU and memory) plus `balanced_scores`, in
half the time: every pod needs them, and most pods need nothing else. Pods that request the same
are scored alike, so the scores of all nodes are kept, and only nodes that have changed since are
scored again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twin.needs import PodNeeds
from twin.part import Part
from twin.scheduling.node_table import Ints, NodeTable

_FEW = 64
"""So few candidates are scored as they are."""
_KEPT = 128


@dataclass(slots=True)
class _Known:
    """The scores of all rows for pods of one request, as of `seen` touches in an epoch."""

    epoch: int
    seen: int
    scores: Ints


class AmountScores(Part):
    """Scores by amounts, kept by request; a cache of pure results."""

    LEAVES = ("_known",)

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._known: dict[object, _Known] = {}

    def scores(self, rows: Ints, needs: PodNeeds) -> Ints:
        """Return what `amount_scores` returns."""
        if len(rows) < _FEW:
            return amount_scores(self._nodes, rows, needs)
        nodes, key = self._nodes, (needs.scored, needs.asked)
        known = self._known.get(key)
        touched = nodes.touched
        if (
            known is None
            or known.epoch != nodes.touch_epoch
            or len(known.scores) != nodes.count
            or len(touched) - known.seen > nodes.count // 4
        ):
            known = self._renew(key, needs)
        elif len(touched) > known.seen:
            changed = np.array(sorted(set(touched[known.seen :])), np.int64)
            changed = changed[nodes.present[changed]]
            if len(changed):
                known.scores[changed] = amount_scores(nodes, changed, needs)
            known.seen = len(touched)
        return known.scores[rows]

    def _renew(self, key: object, needs: PodNeeds) -> _Known:
        nodes = self._nodes
        scores = np.zeros(nodes.count, np.int64)
        there = nodes.present[: nodes.count].nonzero()[0]
        scores[there] = amount_scores(nodes, there, needs)
        if len(self._known) >= _KEPT:
            self._known.clear()
        made = self._known[key] = _Known(nodes.touch_epoch, len(nodes.touched), scores)
        return made


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
