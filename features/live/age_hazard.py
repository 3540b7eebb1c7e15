"""How often attempts fail by how long they have run: a hazard that is constant between ages.

Additions and multiplications alone, element by element, so that every machine computes the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AgeHazard:
    """Expected failures of one attempt a second, from each age on; `ages_seconds` begins with 0 and rises."""

    ages_seconds: tuple[float, ...]
    per_second: tuple[float, ...]

    def total(self, ages: F64) -> F64:
        """Return the expected failures of an attempt until each age."""
        edges, rates = np.array(self.ages_seconds), np.array(self.per_second)
        before = np.zeros(len(edges))
        for place in range(1, len(edges)):
            width = edges[place] - edges[place - 1]
            before[place] = before[place - 1] + rates[place - 1] * width
        place_of = np.maximum(np.searchsorted(edges, ages, side="right") - 1, 0)
        result: F64 = before[place_of] + rates[place_of] * (ages - edges[place_of])
        return result

    def within(self, ages: F64, seconds: float) -> F64:
        """Return the expected failures of attempts of these ages within the next seconds."""
        expected: F64 = self.total(ages + seconds) - self.total(ages)
        return expected

    def of_a_start_within(self, seconds: float, steps: int = 60) -> float:
        """Return the expected failures, before the end of so many seconds, of an attempt that begins at any of them."""
        middles = (np.arange(steps, dtype=np.float64) + 0.5) * (seconds / steps)
        totals: list[float] = self.total(middles).tolist()
        return sum(totals) / steps


def age_hazard(ages_seconds: Sequence[float], per_quarter: Sequence[float]) -> AgeHazard:
    """Return the hazard of rates that are given for 900 seconds."""
    return AgeHazard(tuple(ages_seconds), tuple(rate / 900.0 for rate in per_quarter))
