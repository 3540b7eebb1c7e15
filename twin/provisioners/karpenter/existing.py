"""The nodes that are there or on their way, as a run of the solver sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from twin.needs import BASIC_RESOURCES
from twin.provisioners.karpenter.requirements import Requirements
from twin.provisioners.placement import NodeInfo
from twin.records import Object, PodRecord

Amounts = np.ndarray[Any, np.dtype[np.int64]]
"""Of BASIC_RESOURCES by node: what is free."""


@dataclass(frozen=True, slots=True, eq=False)
class Existing:
    """A node that is there, or a NodeClaim that will be one."""

    place: NodeInfo
    taints: tuple[Object, ...]
    requirements: Requirements
    initialized: bool
    pool: str
    claim: str
    """Name of its NodeClaim; empty for a node that Karpenter does not manage."""
    node: str
    """Name of its node; empty while there is none."""
    added: list[PodRecord] = field(default_factory=list)
    """Pods that a run has put there."""


class ExistingNodes:
    """All of them in the order in which they are tried, with an index of what is free.

    Which nodes have room is a comparison of columns, so a pod that fits nowhere costs microseconds even
    with a thousand nodes. Entries and their places are shared with other runs.
    """

    def __init__(
        self,
        entries: Sequence[Existing],
        free: Amounts,
        index: Mapping[str, int],
        without: Iterable[str],
    ) -> None:
        self._entries = entries
        self._free = free.copy()
        self._open = np.ones(len(entries), np.bool_)
        for name in without:
            if name in index:
                self._open[index[name]] = False
        self._used: dict[int, Existing] = {}

    def with_room(self, pod: PodRecord) -> Iterator[int]:
        """Yield the numbers of the nodes that have what a pod requests, in order."""
        found = self._open.copy()
        for line, amount in pod.shape.needs.asked:
            found &= self._free[line] >= amount
        first = int(found.argmax()) if len(found) else 0
        if len(found) and found[first]:
            yield first  # mostly it is taken
            yield from (first + 1 + np.flatnonzero(found[first + 1 :])).tolist()

    def __getitem__(self, number: int) -> Existing:
        return self._entries[number]

    def put(self, number: int, pod: PodRecord) -> None:
        """Note that a pod has been put on a node."""
        used = self._used.get(number)
        if used is None:
            used = self._used[number] = replace(self._entries[number], added=[])
        used.added.append(pod)
        for line, amount in pod.reserved_needs.asked:
            self._free[line, number] -= amount

    def used(self) -> list[Existing]:
        """Return the nodes that pods were put on, in order."""
        return [self._used[number] for number in sorted(self._used)]


def free_amounts(entries: Sequence[Existing]) -> Amounts:
    """Return what is free on each node."""
    rows = [entry.place.free for entry in entries]
    table: Amounts = np.array(rows, np.int64).reshape(len(rows), len(BASIC_RESOURCES))
    return np.ascontiguousarray(table.T)
