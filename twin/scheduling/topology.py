"""Topology domains: for a node label such as a zone, the domain of each node as a number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twin.part import Part
from twin.scheduling.node_table import Flags, Ints, NodeTable
from twin.world import World

HOSTNAME = "kubernetes.io/hostname"
_REGION, _ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """`codes` by node row: the number of the node's domain, -1 without the label."""

    generation: int
    codes: Ints
    size: int
    shown: Flags
    """Rows with the label, of nodes that exist."""


class Topology(Part):
    """Domains by label key, kept until labels change."""

    LEAVES = ("_known", "_order", "_order_generation")

    def __init__(self, world: World, nodes: NodeTable) -> None:
        self._world = world
        self._nodes = nodes
        self._known: dict[str, Domains] = {}
        self._order: Ints | None = None
        self._order_generation = -1

    @property
    def count(self) -> int:
        """How many node rows there are."""
        return self._nodes.count

    def domains(self, key: str) -> Domains:
        """Return the domains that a label key splits the nodes into."""
        generation = self._nodes.label_generation
        known = self._known.get(key)
        if known is None or known.generation != generation:
            known = self._known[key] = self._split(key, generation)
        return known

    def order(self) -> Ints | None:
        """Return the rows of all nodes zone by zone in turn; None when that is their own order.

        Upstream: pkg/scheduler/backend/cache/node_tree.go.
        """
        generation = self._nodes.label_generation
        if self._order_generation != generation:
            self._order_generation = generation
            self._order = self._zone_order()
        return self._order

    def _split(self, key: str, generation: int) -> Domains:
        codes = np.full(self._nodes.count, -1, np.int64)
        numbers: dict[str, int] = {}
        for row, name in enumerate(self._nodes.names):
            node = self._world.node(name)
            value = None if node is None else node.labels.get(key)
            if value is not None:
                codes[row] = numbers.setdefault(value, len(numbers))
        return Domains(generation, codes, len(numbers), codes >= 0)

    def _zone_order(self) -> Ints | None:
        zones: dict[tuple[str, str], list[int]] = {}
        rows = np.flatnonzero(self._nodes.present[: self._nodes.count]).tolist()
        for row in rows:
            node = self._world.node(self._nodes.names[row])
            if node is not None:
                zone = (node.labels.get(_REGION, ""), node.labels.get(_ZONE, ""))
                zones.setdefault(zone, []).append(row)
        ordered = [
            members[turn]
            for turn in range(max(map(len, zones.values()), default=0))
            for members in zones.values()
            if turn < len(members)
        ]
        return (
            None
            if ordered == rows and len(rows) == self._nodes.count
            else np.array(ordered, np.int64)
        )


def domain_sums(domains: Domains, counts: Ints) -> Ints:
    """Return the sum of `counts` by domain; rows without the label are left out."""
    shown = domains.shown
    sums = np.bincount(domains.codes[shown], weights=counts[shown], minlength=domains.size)
    return sums.astype(np.int64)  # exact: far fewer than 2**53 pods


def by_row(domains: Domains, sums: Ints) -> Ints:
    """Return each row's value of its domain, 0 without the label."""
    if not domains.size:
        return np.zeros(len(domains.codes), np.int64)
    return np.where(domains.shown, sums[domains.codes], 0)
