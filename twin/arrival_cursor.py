"""Arrivals as a chain that is drawn when it is read, so that clones can read on independently.

Problem: an iterator has one reader and cannot be copied. Guarantee: every reader of a chain sees
the same arrivals in any order of reading; what all have passed is freed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from twin.workloads.arrival import WorkloadArrival


class ArrivalCursor:
    """One place in a source of arrivals."""

    __slots__ = ("_after", "_drawn", "_source", "arrival", "number")

    def __init__(
        self, arrival: WorkloadArrival, number: int, source: Iterator[WorkloadArrival]
    ) -> None:
        self.arrival = arrival
        self.number = number  # how many arrivals came before
        self._source = source
        self._after: Self | None = None
        self._drawn = False

    @classmethod
    def begin(cls, source: Iterator[WorkloadArrival]) -> Self | None:
        """Return the first place, None for an empty source; nothing else may read the source."""
        first = next(source, None)
        return None if first is None else cls(first, 0, source)

    def after(self) -> Self | None:
        """Return the next place, None at the end."""
        if not self._drawn:
            self._drawn = True
            arrival = next(self._source, None)
            if arrival is not None:
                self._after = type(self)(arrival, self.number + 1, self._source)
        return self._after
