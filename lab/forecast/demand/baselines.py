"""Simple rules of demand that a model is compared with, over a series that is known whole.

Sources: RC-like is Bashir et al., "Take it to the limit", EuroSys 2021; VPA is the Kubernetes vertical pod autoscaler's
recommender (90th percentile, samples decay with a half-life of 24 h, 15 % margin), here with exact
quantiles instead of histogram buckets and without its confidence factor.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats, row_quantiles
from features.series.rules import DAY_WINDOWS, HISTORY_WINDOWS, RC_LEVEL, last_value, row_max

VPA_LEVEL = 0.90
VPA_MARGIN = 1.15
VPA_HALF_LIFE_WINDOWS = 288


def same_time_yesterday(recent: Floats, horizon_windows: int) -> Floats:
    """Return the peak of the same windows one day before; the last value where that is unknown.

    `recent` holds at least `DAY_WINDOWS` windows, the newest last.
    """
    begin = recent.shape[1] - DAY_WINDOWS
    peak = row_max(recent[:, begin : begin + horizon_windows])
    return np.where(np.isnan(peak), last_value(recent), peak)


def rc_like(recent: Floats, level: float = RC_LEVEL) -> Floats:
    """Return the percentile of the last two hours (a series of its own, so nothing is summed)."""
    return row_quantiles(recent[:, -HISTORY_WINDOWS:], [level])[:, 0]


def vpa_weights(count: int, half_life_windows: float = VPA_HALF_LIFE_WINDOWS) -> Floats:
    """Return the weights of `count` consecutive windows: doubled with every half-life, newest 1."""
    ages = range(count - 1, -1, -1)
    return np.array([math.pow(2.0, -age / half_life_windows) for age in ages])


def vpa_limits(values: Floats, origins: NDArray[np.int64]) -> Floats:
    """Return VPA's limit at each origin from all windows before it.

    `values` is one series (windows,); an origin is the index of the first unknown window.
    """
    weights = vpa_weights(len(values))
    return VPA_MARGIN * _all_history(values, origins, weights, VPA_LEVEL)


def percentile_limits(values: Floats, origins: NDArray[np.int64], level: float) -> Floats:
    """Return the linear percentile of all windows before each origin."""
    order = np.lexsort((values,))
    order = order[~np.isnan(values[order])]
    limits = np.full(len(origins), np.nan)
    for row, origin in enumerate(origins):
        earlier = values[order[order < origin]]
        if earlier.size:
            rank = (len(earlier) - 1) * level
            low = int(rank)
            high = min(low + 1, len(earlier) - 1)
            limits[row] = earlier[low] + (earlier[high] - earlier[low]) * (rank - low)
    return limits


def _all_history(
    values: Floats, origins: NDArray[np.int64], weights: Floats, level: float
) -> Floats:
    # Sorted once; what lies at or after an origin then weighs nothing.
    order = np.lexsort((values,))
    order = order[~np.isnan(values[order])]
    limits = np.full(len(origins), np.nan)
    for row, origin in enumerate(origins):
        earlier = order[order < origin]
        if earlier.size:
            reached = np.cumsum(weights[earlier])
            place = int(np.searchsorted(reached, level * reached[-1], side="left"))
            limits[row] = values[earlier[min(place, len(earlier) - 1)]]
    return limits


def weighted_quantile(values: Floats, weights: Floats, level: float) -> float:
    """Return the smallest value whose weights up to it reach `level` of all weight.

    `values` and `weights` are one-dimensional; NaN values do not count; NaN without any value.
    """
    known = ~np.isnan(values)
    if not known.any():
        return float("nan")
    order = np.lexsort((values[known],))
    reached = np.cumsum(weights[known][order])
    place = int(np.searchsorted(reached, level * reached[-1], side="left"))
    return float(values[known][order][min(place, len(reached) - 1)])


def ascending_quantiles(quantiles: Floats) -> Floats:
    """Return predictions with each row in ascending order: a higher quantile is never lower.

    `quantiles` is (rows, levels) with ascending levels. Sorting never increases the pinball loss
    (Chernozhukov, Fernandez-Val and Galichon 2010).
    """
    return np.sort(quantiles, axis=1)
