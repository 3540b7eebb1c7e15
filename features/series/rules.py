"""Rules that set a limit from a series' past: what a learned model has to beat.

Each rule reads only windows before the origin. Sources: N-sigma, RC-like and their maximum are
Bashir et al., "Take it to the limit", EuroSys 2021; VPA is the Kubernetes vertical pod autoscaler's
recommender (90th percentile, samples decay with a half-life of 24 h, 15 % margin), here with exact
quantiles instead of histogram buckets and without its confidence factor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats, row_quantiles

WINDOW_SECONDS = 300
DAY_WINDOWS = 288
HISTORY_WINDOWS = 24
"""Two hours: the history that the rules of Bashir et al. read."""

SIGMAS = 5.0
RC_LEVEL = 0.95
VPA_LEVEL = 0.90
VPA_MARGIN = 1.15
VPA_HALF_LIFE_WINDOWS = 288


def last_value(recent: Floats) -> Floats:
    """Return the newest known window of each row of `recent` (series, windows), NaN without one."""
    known = ~np.isnan(recent)
    newest = recent.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    newest_values: Floats = recent[np.arange(len(recent)), newest]
    return newest_values


def same_time_yesterday(recent: Floats, horizon_windows: int) -> Floats:
    """Return the peak of the same windows one day before; the last value where that is unknown.

    `recent` holds at least `DAY_WINDOWS` windows, the newest last.
    """
    begin = recent.shape[1] - DAY_WINDOWS
    peak = row_max(recent[:, begin : begin + horizon_windows])
    return np.where(np.isnan(peak), last_value(recent), peak)


def n_sigma(recent: Floats, sigmas: float = SIGMAS) -> Floats:
    """Return mean + `sigmas` population standard deviations of the last two hours."""
    mean, deviation = row_mean_deviation(recent[:, -HISTORY_WINDOWS:])
    return mean + sigmas * deviation


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


def highest(limits: Sequence[Floats]) -> Floats:
    """Return the elementwise maximum of several rules' limits, ignoring what is missing."""
    return row_max(np.stack(limits, axis=1))


def row_max(rows: Floats) -> Floats:
    """Return each row's largest known value, NaN without one."""
    if not rows.shape[1]:
        return np.full(len(rows), np.nan)
    known = np.where(np.isnan(rows), -np.inf, rows).max(axis=1)
    return np.where(known == -np.inf, np.nan, known)


def row_min(rows: Floats) -> Floats:
    """Return each row's smallest known value, NaN without one."""
    return -row_max(-rows)


def row_mean_deviation(rows: Floats) -> tuple[Floats, Floats]:
    """Return mean and population standard deviation of each row's known values, NaN without one."""
    known = ~np.isnan(rows)
    count = known.sum(axis=1)
    divisor = np.where(count > 0, count, np.nan)
    mean = np.where(known, rows, 0.0).sum(axis=1) / divisor
    from_mean = np.where(known, rows - mean[:, None], 0.0)
    return mean, np.sqrt((from_mean * from_mean).sum(axis=1) / divisor)
