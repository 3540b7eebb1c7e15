"""Draw from a distribution that is known by its quantiles only.

Problem: a shipped model may not hold trace rows, but durations and usage are far from any
textbook distribution. Guarantee: a draw never leaves the observed range, and evenly spread
uniform numbers give back the stored quantiles.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from math import fsum
from random import Random


def at_rank(quantiles: Sequence[float], rank: float) -> float:
    """Value at `rank` (0..1), linear between the stored, evenly spaced quantiles.

    Raises ValueError when `quantiles` is empty.
    """
    if not quantiles:
        raise ValueError("quantiles must hold at least one value")
    position = min(max(rank, 0.0), 1.0) * (len(quantiles) - 1)
    below = int(position)
    if below + 1 >= len(quantiles):
        return quantiles[-1]
    share = position - below
    return quantiles[below] * (1.0 - share) + quantiles[below + 1] * share


class WeightedTable:
    """Indices 0..n-1 drawn by weight, one at a time or as an even sweep.

    The sweep (systematic sampling) is what keeps the load ratio of a small cluster close to the
    trace's: with independent draws a few large pods more or less would move it by a third.
    """

    def __init__(self, weights: Sequence[float]) -> None:
        """Take non-negative weights with a positive sum; raises ValueError otherwise."""
        if not weights or min(weights) < 0 or fsum(weights) <= 0:
            raise ValueError("weights must be non-negative with a positive sum")
        self._bounds = tuple(accumulate(weights))

    def at_rank(self, rank: float) -> int:
        """Index at `rank` (0..1) of the cumulated weight."""
        return min(bisect_right(self._bounds, rank * self._bounds[-1]), len(self._bounds) - 1)

    def draw(self, rng: Random) -> int:
        """One independent draw."""
        return self.at_rank(rng.random())

    def sweep(self, count: int, rng: Random) -> list[int]:
        """`count` indices at even distances of cumulated weight from one random start."""
        start = rng.random()
        return [self.at_rank((step + start) / count) for step in range(count)]
