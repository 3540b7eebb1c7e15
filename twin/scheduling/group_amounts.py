"""Requests of waiting pods, as columns: which kinds of them could fit into given amounts."""

from __future__ import annotations

import numpy as np

from twin.needs import BASIC_RESOURCES
from twin.records import PodShape
from twin.scheduling.node_table import Flags, Ints

Group = tuple[PodShape, str, str]
"""What failed pods have in common: shape, plugins that refused nodes, and their own uid when it
matters which pod it is."""
FIT = "NodeResourcesFit"


class GroupAmounts:
    """One line per group of waiting pods; lines are used again."""

    def __init__(self) -> None:
        self._line_of: dict[Group, int] = {}  # in the order in which the groups came
        self._groups: list[Group | None] = []
        self._born: list[int] = []  # by line: the number of its group
        self._number = 0
        self._free_lines: list[int] = []
        self._amounts: Ints = np.zeros((0, len(BASIC_RESOURCES)), np.int64)
        self._used: Flags = np.zeros(0, np.bool_)
        self._lacks: Flags = np.zeros(0, np.bool_)  # by line: amounts were in the way

    def add(self, group: Group) -> None:
        """Enter a group that is not in."""
        if not self._free_lines:
            self._grow()
        line = self._free_lines.pop()
        self._number += 1
        self._line_of[group], self._groups[line], self._born[line] = line, group, self._number
        self._amounts[line] = group[0].needs.amounts
        self._used[line] = True
        self._lacks[line] = FIT in group[1]

    def drop(self, group: Group) -> None:
        """Take a group out."""
        line = self._line_of.pop(group)
        self._groups[line] = None
        self._used[line] = False
        self._free_lines.append(line)

    def fitting(self, amounts: Ints, *, lacking: bool) -> list[Group]:
        """Return the groups of which a pod fits into the basic amounts, the oldest first.

        With `lacking`, only those whose pods were refused for want of something.
        """
        some = self._used & self._lacks if lacking else self._used
        mask = some & ((self._amounts <= amounts) | (self._amounts == 0)).all(axis=1)
        lines = sorted(mask.nonzero()[0].tolist(), key=self._born.__getitem__)
        return [group for line in lines if (group := self._groups[line]) is not None]

    def _grow(self) -> None:
        size = len(self._groups)
        added = max(64, size)
        self._groups.extend([None] * added)
        self._born.extend([0] * added)
        self._free_lines = list(range(size + added - 1, size - 1, -1))
        self._amounts = np.pad(self._amounts, ((0, added), (0, 0)))
        self._used = np.pad(self._used, (0, added))
        self._lacks = np.pad(self._lacks, (0, added))
