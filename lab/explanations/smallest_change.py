"""The smallest changes that would let a pod run: each is tried on the copy of the cluster before it is said.

What may be in the way is taken apart into obstacles. All of them one at a time, then in pairs and threes, are taken
away whole, until some node takes the pod; what is left over is then made as small as that node allows, and tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lab.explanations.frozen_cluster import FrozenCluster, Object
from lab.explanations.obstacles import Obstacle, without, without_all
from lab.explanations.scheduling import cycle_of, early_problem
from lab.explanations.shrinking import SHRINK, Place
from twin.intake import pod_shape
from twin.records import PodRecord

MOST_TOGETHER = 3
MOST_CHANGES = 6
MOST_NODES = 16
"""Nodes on which one change is made small: those with most of what is short."""


@dataclass(frozen=True, slots=True)
class Change:
    """What lets the pod run, all of it together, and where; it was tried."""

    obstacles: tuple[Obstacle, ...]
    steps: tuple[str, ...]
    node: str
    spec: Object
    """The pod's spec with it; tolerations stand there for what the state of a node would have to be."""
    half: Object | None
    """The spec with half of the amounts, or without the last of several steps; None where there is no half."""


def smallest_changes(cluster: FrozenCluster, pod: PodRecord) -> tuple[Change, ...]:
    """Return the changes with the fewest parts that each let the pod run, the easiest first; none where none does."""
    if not cluster.nodes.existing or early_problem(cluster, pod):
        return ()
    applicable = [one for one in Obstacle if without(cluster, pod.shape.spec, one) is not None]
    for number in range(1, MOST_TOGETHER + 1):
        found = []
        for together in combinations(applicable, number):
            rows = _open_rows(cluster, pod, without_all(cluster, pod.shape.spec, together))
            change = _smallest_of(cluster, pod, together, rows) if rows else None
            if change is not None:
                found.append(change)
        if found:
            return tuple(found[:MOST_CHANGES])
    return ()


def open_nodes(cluster: FrozenCluster, pod: PodRecord, spec: Object) -> tuple[str, ...]:
    """Return the nodes that would take the pod with this spec."""
    return tuple(cluster.nodes.names[row] for row in _open_rows(cluster, pod, spec))


def _open_rows(cluster: FrozenCluster, pod: PodRecord, spec: Object) -> list[int]:
    changed = pod.clone()
    changed.shape, changed.resize = pod_shape(spec), None
    if early_problem(cluster, changed):
        return []
    rows: list[int] = np.flatnonzero(cycle_of(cluster, changed).feasible()).tolist()
    return sorted(rows, key=cluster.nodes.names.__getitem__)


def _smallest_of(
    cluster: FrozenCluster, pod: PodRecord, together: tuple[Obstacle, ...], rows: Sequence[int]
) -> Change | None:
    """Return the smallest change of these obstacles, on the node that asks for least; None where none is sensible."""
    line = 1 if Obstacle.MEMORY in together and Obstacle.CPU not in together else 0
    ranked = sorted(rows, key=lambda row: -int(cluster.nodes.free[line, row]))
    tried = (_on_node(cluster, pod, together, row) for row in ranked[:MOST_NODES])
    found = [one for one in tried if one is not None]
    return min(found, key=lambda one: (one[0], one[1].node))[1] if found else None


def _on_node(
    cluster: FrozenCluster, pod: PodRecord, together: tuple[Obstacle, ...], row: int
) -> tuple[float, Change] | None:
    """Return what has to change for one node, and how much that is; None where that is not sensible."""
    free = int(cluster.nodes.free[0, row]), int(cluster.nodes.free[1, row])
    place = Place(cluster.node_at(row), free)
    spec, size = pod.shape.spec, 0.0
    steps: list[str] = []
    half: Object | None = None
    for number, obstacle in enumerate(together):
        later = together[number + 1 :]

        def fits(changed: Object, later: tuple[Obstacle, ...] = later) -> bool:
            return row in _open_rows(cluster, pod, without_all(cluster, changed, later))

        made = SHRINK[obstacle](place, spec, fits)
        if made is None:
            return None
        before, spec = spec, made.spec
        half = made.half or (before if steps else None)
        steps.append(made.text)
        size += made.size
    if row not in _open_rows(cluster, pod, spec):
        return None
    return size, Change(together, tuple(steps), cluster.nodes.names[row], spec, half)
