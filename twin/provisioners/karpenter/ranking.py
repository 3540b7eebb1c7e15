"""Candidates as columns: who may be consolidated by price, and in which order.

Problem: the disruption loop looks at all candidates every ten seconds, a thousand of them, and their costs fall
with their age, so an order cannot be kept. Guarantee: the same candidates in the same order as
`is_consolidatable` and `DisruptionCandidate.cost` give one by one, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import numpy.typing as npt

from twin.provisioners.karpenter.candidate import DisruptionCandidate

Floats = npt.NDArray[np.float64]


class Ranking:
    """Candidates that are in order of their names."""

    def __init__(self, candidates: Sequence[DisruptionCandidate]) -> None:
        self.candidates = candidates
        self.special = [one for one in candidates if not (one.pods and one.is_plain)]
        """Those without pods, and those that type or pool keep from being consolidated by price."""
        table: Floats = np.array([_row(one) for one in candidates]).reshape(-1, 5).T
        self._cost, self._lifetime, self._created_at, self._quiet_since, self._after = table

    def by_cost(self, now: float) -> list[DisruptionCandidate]:
        """Return those that may be consolidated by price at a time, the cheapest to disrupt first."""
        rows = np.flatnonzero(now - self._quiet_since >= self._after)
        whole = self._lifetime[rows]
        left = (whole - (now - self._created_at[rows])) / np.where(whole > 0.0, whole, 1.0)
        left = np.where(whole > 0.0, np.minimum(1.0, np.maximum(0.0, left)), 1.0)
        order = rows[np.lexsort((self._cost[rows] * left,))]  # leaves equals in order of name
        candidates = self.candidates
        return [candidates[row] for row in order.tolist()]


def _row(one: DisruptionCandidate) -> tuple[float, float, float, float, float]:
    """Return eviction cost, lifetime, creation and last change of its pods, and for how long these have to have
    stayed the same; for ever where it may not be consolidated by price.
    """
    after = one.pool.consolidate_after_seconds if one.initialized and one.is_plain else None
    return (
        one.eviction_cost,
        one.lifetime_seconds,
        one.claim.created_at,
        one.quiet_since,
        inf if after is None else after,
    )
