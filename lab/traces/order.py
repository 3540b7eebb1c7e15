"""Which rows of a table are out of order: the fewest, so that one absurd time costs one row."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np


def out_of_order(values: np.ndarray) -> np.ndarray:
    """Return which values to leave out so that the others never go back: the fewest, the latest of equal choices.

    The rest is a longest subsequence that never falls. It is searched for among the values that are part of
    any step back; all others stay.
    """
    bad = np.zeros(len(values), bool)
    if len(values) < 2:
        return bad
    later_least = np.minimum.accumulate(values[::-1])[::-1]
    disputed = np.flatnonzero((values < np.maximum.accumulate(values)) | (values > later_least))
    bad[disputed] = True
    bad[disputed[_kept(values[disputed].tolist())]] = False
    return bad


def _kept(values: list[int]) -> list[int]:
    """Return the places of a longest subsequence that never falls; the earliest of equal choices."""
    ends: list[int] = []  # by length: the negated value that ends such a subsequence, from the back
    places: list[int] = []
    before = [-1] * len(values)
    for place in range(len(values) - 1, -1, -1):
        length = bisect_right(ends, -values[place])
        ends[length : length + 1] = [-values[place]]
        places[length : length + 1] = [place]
        before[place] = places[length - 1] if length else -1
    kept: list[int] = []
    place = places[-1] if places else -1
    while place >= 0:
        kept.append(place)
        place = before[place]
    return kept
