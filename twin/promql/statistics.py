"""Quantiles, of numbers and of histogram buckets, as Prometheus works them out (promql/quantile.go)."""

from __future__ import annotations

import math

import numpy as np

from twin.promql.values import Floats


def quantiles(numbers: Floats, share: float) -> Floats:
    """Return the quantile of each column of (numbers, columns); NaN counts as smallest.

    NaN for no numbers or a NaN share, minus or plus infinity for one outside of 0 to 1.
    """
    count, columns = numbers.shape
    if count == 0 or math.isnan(share):
        return np.full(columns, np.nan)
    if not 0.0 <= share <= 1.0:
        return np.full(columns, math.copysign(math.inf, share))
    rising = np.sort(np.where(np.isnan(numbers), -np.inf, numbers), axis=0)
    if np.isnan(numbers).any():  # sorted as the smallest, they stay what they are
        missing = np.isnan(numbers).sum(axis=0)
        rising[np.arange(count)[:, None] < missing] = np.nan
    rank = share * (count - 1)
    low = max(0, math.floor(rank))
    high = min(count - 1, low + 1)
    weight = rank - math.floor(rank)
    return np.asarray(rising[low] * (1.0 - weight) + rising[high] * weight)


def bucket_quantiles(bounds: Floats, counts: Floats, share: Floats) -> Floats:
    """Return the quantile at each step of cumulative buckets (bounds, steps), `bounds` rising.

    `share` is one number a step. NaN without a bucket up to infinity, with fewer than two buckets, or
    without observations. Within a bucket it is interpolated evenly.
    """
    steps = counts.shape[1]
    made = np.full(steps, np.nan)
    made[share < 0.0], made[share > 1.0] = -np.inf, np.inf
    inside = (share >= 0.0) & (share <= 1.0)
    if len(bounds) == 0 or not math.isinf(bounds[-1]) or bounds[-1] < 0:
        return np.where(inside, np.nan, made)
    bounds, counts = _joined(bounds, counts)
    if len(bounds) < 2:
        return np.where(inside, np.nan, made)
    counts = np.maximum.accumulate(counts, axis=0)
    total = counts[-1]
    rank = share * total
    reached = counts[:-1] >= rank
    place = np.where(reached.any(axis=0), reached.argmax(axis=0), len(bounds) - 1)
    return np.where(inside, _within(bounds, counts, rank, place), made)


def _within(bounds: Floats, counts: Floats, rank: Floats, place: Floats) -> Floats:
    at = np.arange(len(rank))
    below = np.maximum(place - 1, 0)
    start = np.where(place > 0, bounds[below], 0.0)
    passed = np.where(place > 0, counts[below, at], 0.0)
    with np.errstate(all="ignore"):
        part = (rank - passed) / (counts[place, at] - passed)
        value = start + (bounds[place] - start) * part
    value = np.where((place == 0) & (bounds[0] <= 0.0), bounds[0], value)
    value = np.where(place == len(bounds) - 1, bounds[-2], value)
    return np.where((counts[-1] == 0.0) | np.isnan(counts[-1]), np.nan, value)


def _joined(bounds: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Add up buckets with equal bounds."""
    unique, starts = np.unique(bounds, return_index=True)
    if len(unique) == len(bounds):
        return bounds, counts
    return unique, np.asarray(np.add.reduceat(counts, starts, axis=0))
