"""Topology domains: for a node label such as a zone, the domain of each node as a number.

Labels are read again of nodes that have changed, so a cluster that grows by a thousand nodes reads each a few times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from twin.part import Part
from twin.records import NodeRecord
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


Value = TypeVar("Value")


class _Column(Generic[Value]):
    """What is read of each node, by row; None without it, and of nodes that are gone."""

    def __init__(self, world: World, nodes: NodeTable, read: Callable[[NodeRecord], Value]) -> None:
        self._world = world
        self._nodes = nodes
        self._read = read
        self._read_at = -1  # generation of the table
        self.values: list[Value | None] = []

    def refresh(self) -> bool:
        """Read what has changed; False when all values are as before."""
        nodes = self._nodes
        altered = len(self.values) < nodes.count
        self.values += [None] * (nodes.count - len(self.values))
        for row in np.flatnonzero(nodes.changed_at[: nodes.count] > self._read_at).tolist():
            node = self._world.node(nodes.names[row]) if nodes.present[row] else None
            value = None if node is None else self._read(node)
            if value != self.values[row]:
                self.values[row], altered = value, True
        self._read_at = nodes.generation
        return altered


class Topology(Part):
    """Domains by label key, kept until labels change."""

    LEAVES = ("_known", "_columns", "_zones", "_order", "_order_generation")

    def __init__(self, world: World, nodes: NodeTable) -> None:
        self._world = world
        self._nodes = nodes
        self.restored()

    def restored(self) -> None:
        """Read all labels anew."""
        self._known: dict[str, Domains] = {}
        self._columns: dict[str, _Column[str | None]] = {}
        self._zones = _Column(self._world, self._nodes, _zone_of)
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
            known = self._known[key] = self._split(key, generation, known)
        return known

    def order(self) -> Ints | None:
        """Return the rows of all nodes zone by zone in turn; None when that is their own order.

        Upstream: pkg/scheduler/backend/cache/node_tree.go.
        """
        generation = self._nodes.label_generation
        if self._order_generation != generation:
            self._order_generation = generation
            if self._zones.refresh():
                self._order = self._zone_order()
        return self._order

    def _split(self, key: str, generation: int, known: Domains | None) -> Domains:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = _Column(
                self._world, self._nodes, lambda node: node.labels.get(key)
            )
        if not column.refresh() and known is not None:
            return replace(known, generation=generation)
        numbers: dict[str, int] = {}
        codes = np.array(
            [
                -1 if value is None else numbers.setdefault(value, len(numbers))
                for value in column.values
            ],
            np.int64,
        )
        return Domains(generation, codes, len(numbers), codes >= 0)

    def _zone_order(self) -> Ints | None:
        zones: dict[tuple[str, str], list[int]] = {}
        rows = []
        for row, zone in enumerate(self._zones.values):
            if zone is not None:
                rows.append(row)
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


def _zone_of(node: NodeRecord) -> tuple[str, str]:
    return (node.labels.get(_REGION, ""), node.labels.get(_ZONE, ""))


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
