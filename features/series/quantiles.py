"""Quantiles of rows that have holes.

Series have missing windows (NaN), and a hole must not change what the rest says. Guarantee: every
row is computed by itself, so that cutting a matrix into other batches changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def row_quantiles(rows: Floats, levels: Sequence[float]) -> Floats:
    """Return linear quantiles of each row's finite values, shape (rows, levels).

    Linear means: between the two nearest ranks, as numpy's default. NaN where a row has no value.
    """
    ordered = np.sort(rows, axis=1)  # NaN go last
    return sorted_quantiles(ordered, np.count_nonzero(~np.isnan(rows), axis=1), levels)


def sorted_quantiles(ordered: Floats, counts: NDArray[np.int64], levels: Sequence[float]) -> Floats:
    """Return linear quantiles of rows that are sorted already, `counts` finite values in front."""
    result = np.full((len(ordered), len(levels)), np.nan)
    if not ordered.size:
        return result
    last = np.maximum(counts - 1, 0)
    row = np.arange(len(ordered))
    for column, level in enumerate(levels):
        rank = last * level
        low = np.floor(rank).astype(np.int64)
        high = np.minimum(low + 1, last)
        below, above = ordered[row, low], ordered[row, high]
        result[:, column] = below + (above - below) * (rank - low)
    return result
