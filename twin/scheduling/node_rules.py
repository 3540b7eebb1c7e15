"""Filters and scores that follow from a node's object and a pod's spec alone, kept until it changes.

NodeUnschedulable, TaintToleration and NodeAffinity. A change of one node has only its own row read
again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from twin.part import Part
from twin.records import NodeRecord, PodShape
from twin.scheduling.node_table import Flags, Ints, NodeTable
from twin.scheduling.placement_rules import is_selected, is_tolerated, refusal, term_selects
from twin.world import World

_KEPT = 4_096
_HARD_EFFECTS = ("NoSchedule", "NoExecute")


@dataclass(slots=True)
class Rules:
    """What the rules say by node row: empty reason allowed, None no such node."""

    generation: int
    allowed: Flags
    reasons: list[str | None]
    all_allowed: bool


@dataclass(slots=True)
class Column:
    """One number by node row."""

    generation: int
    values: Ints


C = TypeVar("C", Rules, Column)


class NodeRules(Part):
    """Answers by shape, each a pure function of the nodes."""

    LEAVES = ("_rules", "_columns", "_soft_generation", "_soft")

    def __init__(self, world: World, nodes: NodeTable, filters: tuple[str, ...]) -> None:
        self._world = world
        self._nodes = nodes
        self._filters = frozenset(filters)
        self._rules: dict[bytes, Rules] = {}
        self._columns: dict[tuple[str, bytes], Column] = {}
        self._soft_generation = -1
        self._soft = False

    def rules(self, shape: PodShape) -> Rules:
        """Return which nodes the shape may go to, as far as these filters say."""
        known = self._rules.get(shape.placement_key)
        generation = self._nodes.generation
        if known is not None and known.generation == generation:
            return known
        count = self._nodes.count
        if known is None:
            _make_room(self._rules)
            known = Rules(-1, np.zeros(count, np.bool_), [None] * count, False)
            self._rules[shape.placement_key] = known
        elif len(known.reasons) < count:
            known.reasons += [None] * (count - len(known.reasons))
            known.allowed = np.pad(known.allowed, (0, count - len(known.allowed)))
        for row in self._changed_rows(known.generation):
            node = self._node(row)
            reason = None if node is None else refusal(node, shape, self._filters)
            known.reasons[row] = reason
            known.allowed[row] = reason == ""
        known.generation = generation
        known.all_allowed = bool(known.allowed.all())
        return known

    def affine(self, shape: PodShape) -> Flags | None:
        """Return which nodes match the pod's node selector and affinity; None: all that exist."""
        if not shape.node_selector and not shape.node_affinity:
            return None

        def read(node: NodeRecord) -> int:
            return int(_affine(node, shape))

        return self._column("affine", shape.placement_key, read) > 0

    def tolerable(self, shape: PodShape) -> Flags:
        """Return which nodes have no hard taint that the pod does not tolerate."""

        def read(node: NodeRecord) -> int:
            return int(
                all(
                    is_tolerated(taint, shape.tolerations)
                    for taint in node.taints
                    if taint["effect"] in _HARD_EFFECTS
                )
            )

        return self._column("tolerable", shape.placement_key, read) > 0

    def soft_taints(self, shape: PodShape) -> Ints | None:
        """Return how many PreferNoSchedule taints of each node the pod does not tolerate.

        None when no node has such a taint.
        """
        if self._soft_generation != self._nodes.generation:
            self._soft_generation = self._nodes.generation
            self._soft = bool(self._column("any soft taint", b"", _has_soft_taint).any())
        if not self._soft:
            return None

        def read(node: NodeRecord) -> int:
            return sum(
                taint["effect"] == "PreferNoSchedule" and not is_tolerated(taint, shape.tolerations)
                for taint in node.taints
            )

        return self._column("soft taints", shape.placement_key, read)

    def preference_weights(self, shape: PodShape) -> Ints | None:
        """Return the weight of the preferred node affinity terms that each node satisfies."""
        terms = shape.needs.preferred_nodes
        if not terms:
            return None

        def read(node: NodeRecord) -> int:
            return sum(weight for weight, term in terms if term_selects(term, node))

        return self._column("preferred", shape.needs.preferred_nodes_key, read)

    def _column(self, what: str, key: bytes, read: Callable[[NodeRecord], int]) -> Ints:
        known = self._columns.get((what, key))
        generation, count = self._nodes.generation, self._nodes.count
        if known is None:
            _make_room(self._columns)
            known = self._columns[(what, key)] = Column(-1, np.zeros(count, np.int64))
        if known.generation != generation:
            if len(known.values) < count:
                known.values = np.pad(known.values, (0, count - len(known.values)))
            for row in self._changed_rows(known.generation):
                node = self._node(row)
                known.values[row] = 0 if node is None else read(node)
            known.generation = generation
        return known.values

    def _changed_rows(self, since: int) -> list[int]:
        changed: list[int] = np.flatnonzero(
            self._nodes.changed_at[: self._nodes.count] > since
        ).tolist()
        return changed

    def _node(self, row: int) -> NodeRecord | None:
        return self._world.node(self._nodes.names[row])


def _affine(node: NodeRecord, shape: PodShape) -> bool:
    return is_selected(node, shape.node_selector) and (
        not shape.node_affinity or any(term_selects(term, node) for term in shape.node_affinity)
    )


def _has_soft_taint(node: NodeRecord) -> int:
    return int(any(taint["effect"] == "PreferNoSchedule" for taint in node.taints))


def _make_room(cache: dict[bytes, Rules] | dict[tuple[str, bytes], Column]) -> None:
    if len(cache) >= _KEPT:
        cache.clear()
