"""Intervals by resampling seeds within each workload, and tests by flipping signs of paired differences.

Seeds are the draws of an experiment, workloads are not: they were chosen. So a resample draws, from each
workload's own seeds, as many as there are, with repeats (Efron and Tibshirani, 1993, An Introduction to the
Bootstrap, 8.3; Agarwal et al., 2021, Deep Reinforcement Learning at the Edge of the Statistical Precipice,
NeurIPS 34, call it stratified). Every workload has the same weight, whatever its number of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from random import Random
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from projections.quantiles import student_quantile

Floats = npt.NDArray[np.float64]
BLOCK_COUNTS = 4_000_000
"""Most counts that are held at once: 32 MB."""
LEAST_RATIO = 1e-9
"""What is smaller than this part of the values is their rounding, not their spread."""
LEAST_SQUARE_RATIO = 1e-12
"""The same for mean squares."""
LEAST_ERROR_RATIO = 1e-7
"""A resample whose standard error is smaller than this part of the sample's drew one value only."""
BYTES = 8


class Resampling:
    """Resamples of so many pairs for each workload; equal arguments draw equal resamples."""

    def __init__(self, sizes: Sequence[int], count: int, seed: int) -> None:
        """Draw `count` resamples of strata of `sizes`, when they are asked for."""
        self.sizes, self.count, self.seed = tuple(sizes), count, seed

    def blocks(self) -> Iterator[tuple[slice, Sequence[Floats]]]:
        """Yield (resamples, how often each pair was drawn: one array, resamples x pairs, for each stratum)."""
        if self.count <= self._block_rows:
            yield slice(0, self.count), self._only_block
            return
        for number, first in enumerate(range(0, self.count, self._block_rows)):
            rows = min(self._block_rows, self.count - first)
            yield slice(first, first + rows), self._draw(number, rows)

    @property
    def _block_rows(self) -> int:
        return max(1, BLOCK_COUNTS // sum(self.sizes))

    @cached_property
    def _only_block(self) -> Sequence[Floats]:
        return self._draw(0, self.count)

    def _draw(self, block: int, rows: int) -> Sequence[Floats]:
        return [
            _draw_counts(size, rows, Random(f"{self.seed}/{block}/{stratum}"))
            for stratum, size in enumerate(self.sizes)
        ]


@lru_cache(maxsize=4)
def resampling(sizes: tuple[int, ...], count: int, seed: int) -> Resampling:
    """Return resamples; the last ones are kept, as most metrics of an experiment have the same pairs."""
    return Resampling(sizes, count, seed)


def _draw_counts(size: int, rows: int, random: Random) -> Floats:
    """Return how often each of `size` pairs was drawn in each of `rows` resamples."""
    numbers = np.frombuffer(random.randbytes(BYTES * rows * size), dtype="<u8")
    # The upper 32 bits times size: as even as 2^32 values can be over a few hundred pairs.
    chosen = (((numbers >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)).astype(np.int64)
    cells = np.repeat(np.arange(rows), size) * size + chosen
    return np.bincount(cells, minlength=rows * size).reshape(rows, size).astype(np.float64)


@dataclass(frozen=True, slots=True)
class MeanIntervals:
    """Means over workloads and their intervals; one entry for each column of the differences."""

    mean: Floats
    low: Floats
    high: Floats
    """NaN both, where a workload has only one pair."""
    error: Floats
    """Standard error of the mean."""


def mean_intervals(
    strata: Sequence[Floats], confidence: float, count: int, seed: int
) -> MeanIntervals:
    """Return means of differences (pairs x columns, one array a workload) with two-sided intervals.

    The limit at each end is the outer one of two stratified bootstraps. The expanded percentile interval
    (Hesterberg, 2015, What Teachers Should Know About the Bootstrap, The American Statistician 69) undoes the
    narrowness of plain percentiles, sqrt((n - 1) / n) and normal instead of t, and holds for discrete differences
    of which most are 0, but not for skewed ones. The bootstrap-t interval (Efron and Tibshirani, 1993, 12.5; Hall,
    1988, Theoretical Comparison of Bootstrap Confidence Intervals, The Annals of Statistics 16) is right to second
    order at each end, so holds for skewed ones, and is infinite or too short where most are 0; an infinite limit
    is left out. BCa covers less than either on 5 to 20 seeds with heavy tails. `docs/experiments.md` has figures.
    """
    sizes = tuple(len(stratum) for stratum in strata)
    mean: Floats = sum(
        (values.mean(axis=0) for values in strata), np.zeros(strata[0].shape[1])
    ) / len(strata)
    centred = [centre(values) for values in strata]
    error = np.sqrt(_squared_error([(values**2).mean(axis=0) for values in centred], sizes))
    if min(sizes) < 2:
        nothing = np.full_like(mean, math.nan)
        return MeanIntervals(mean, nothing, nothing, nothing)
    drawn, errors = resample_means(centred, resampling(sizes, count, seed))
    low, high = expanded_percentiles(drawn, sizes, confidence)
    low_t, high_t = student_limits(drawn, errors, error, confidence)
    return MeanIntervals(
        mean, mean + np.minimum(low, low_t), mean + np.maximum(high, high_t), error
    )


def centre(values: Floats) -> Floats:
    """Return values minus their mean; equal values give exactly 0."""
    away: Floats = values - values.mean(axis=0)
    away[np.abs(away) <= LEAST_RATIO * np.abs(values).max(axis=0)] = 0.0
    return away


def _squared_error(squares: Sequence[Floats], sizes: Sequence[int]) -> Floats:
    """Return the squared standard error of the mean over strata, from mean squared deviations."""
    parts = [square / (size - 1) for square, size in zip(squares, sizes, strict=True) if size > 1]
    total: Floats = sum(parts, np.zeros_like(squares[0]))
    return total / float(len(sizes) ** 2)


def resample_means(centred: Sequence[Floats], draws: Resampling) -> tuple[Floats, Floats]:
    """Return each resample's mean and standard error (resamples x columns), of centred differences."""
    drawn = np.zeros((draws.count, centred[0].shape[1]))
    errors = np.zeros_like(drawn)
    for rows, counts in draws.blocks():
        squares = []
        for times, values in zip(counts, centred, strict=True):
            means = times @ values / len(values)
            drawn[rows] += means / len(centred)
            squares.append(np.maximum(times @ values**2 / len(values) - means**2, 0.0))
        errors[rows] = np.sqrt(_squared_error(squares, draws.sizes))
    return drawn, errors


def expanded_percentiles(
    drawn: Floats, sizes: Sequence[int], confidence: float
) -> tuple[Floats, Floats]:
    """Return percentiles of the resampled means, further out by what a bootstrap of few pairs is too narrow."""
    upper = (1.0 + confidence) / 2.0
    true = math.fsum(1.0 / size for size in sizes)
    narrow = math.fsum((size - 1.0) / size**2 for size in sizes)
    quantile = student_quantile(upper, sum(sizes) - len(sizes)) * math.sqrt(true / narrow)
    return outer_quantiles(drawn, NormalDist().cdf(-quantile))


def student_limits(
    drawn: Floats, errors: Floats, error: Floats, confidence: float
) -> tuple[Floats, Floats]:
    """Return limits from the distribution of mean over standard error; infinite ones become 0, the mean."""
    still = errors <= LEAST_ERROR_RATIO * error
    ratio = drawn / np.where(still, 1.0, errors)
    away = np.abs(drawn) > LEAST_ERROR_RATIO * error
    ratio[still] = np.where(away, np.copysign(np.inf, drawn), 0.0)[still]
    low, high = outer_quantiles(ratio, (1.0 - confidence) / 2.0)
    finite_low, finite_high = np.isfinite(low), np.isfinite(high)
    return (
        -np.where(finite_high, high, 0.0) * error,
        -np.where(finite_low, low, 0.0) * error,
    )


def outer_quantiles(drawn: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the values with at most a `tail` of each column below, and above; the sort of columns is lost."""
    count = len(drawn)
    below = max(0, math.floor(tail * (count + 1)) - 1)
    ordered = np.partition(drawn, (below, count - 1 - below), axis=0)
    return ordered[below], ordered[count - 1 - below]


class SignFlips:
    """The distribution of a studentized mean of differences when each one's sign is as likely plus as minus.

    Fisher (1935), The Design of Experiments, 21; Pitman (1937). Flips stay within their pair, so within their
    workload. The mean over workloads is divided by its standard error, flip by flip, so that the test stays near its
    level, too, where arms differ in spread but not in mean, and does not lose power where workloads differ in effect
    (Chung and Romano, 2013, Exact and Asymptotically Robust Permutation Tests, The Annals of Statistics 41). All
    flips are tried when they are at most `count` (the test is exact then), else `count` random ones, and the
    observed one counts as one of them (Phipson and Smyth, 2010, Permutation P-values Should Never Be Zero,
    Statistical Applications in Genetics and Molecular Biology 9).
    """

    def __init__(self, strata: Sequence[Floats], count: int, seed: int) -> None:
        """Take each workload's differences (one dimension each)."""
        self._sizes = tuple(len(values) for values in strata)
        self._squares = [float((values**2).sum()) / len(values) for values in strata]
        moving = [np.abs(values[values != 0.0]) for values in strata]
        ends = np.cumsum([len(values) for values in moving])
        pairs = int(ends[-1])
        self.exact = 2**pairs <= count
        blocks = [_all_signs(pairs)] if self.exact else _random_signs(pairs, count, seed)
        flipped = [
            self._ratios(
                [
                    part @ values / size
                    for part, values, size in zip(
                        np.split(signs, ends[:-1], axis=1), moving, self._sizes, strict=True
                    )
                ]
            )
            for signs in blocks
        ]
        self._flipped = np.sort(np.concatenate(flipped))

    def _ratios(self, means: Sequence[Floats]) -> Floats:
        """Return |mean| over its standard error, from each workload's means; a sign leaves squares as they are."""
        deviations = [
            np.where(square - mean**2 > LEAST_SQUARE_RATIO * square, square - mean**2, 0.0)
            for square, mean in zip(self._squares, means, strict=True)
        ]
        error = np.sqrt(_squared_error(deviations, self._sizes))
        mean = np.abs(sum(means, np.zeros_like(means[0]))) / len(means)
        largest = max(map(math.sqrt, self._squares))
        mean[mean <= LEAST_RATIO * largest] = 0.0
        still = error == 0.0
        ratios: Floats = mean / np.where(still, 1.0, error)
        ratios[still & (mean > 0.0)] = np.inf
        return ratios

    def p_values(self, strata: Sequence[Floats]) -> Floats:
        """Return two-sided p-values of differences with these sizes and other signs (pairs x columns).

        1 where the mean is 0, and where a workload has only one pair.
        """
        if min(self._sizes) < 2:
            return np.ones(strata[0].shape[1])
        observed = self._ratios([values.mean(axis=0) for values in strata])
        # Equal ratios may differ in their last digits by the order of sums.
        below = np.searchsorted(self._flipped, observed * (1.0 - LEAST_ERROR_RATIO))
        extra = 0 if self.exact else 1
        values: Floats = (len(self._flipped) - below + extra) / (len(self._flipped) + extra)
        return values


def _all_signs(pairs: int) -> Floats:
    """Return every choice of signs: 2^pairs x pairs."""
    bits = (np.arange(2**pairs)[:, None] >> np.arange(pairs)) & 1
    return 1.0 - 2.0 * bits.astype(np.float64)


def _random_signs(pairs: int, count: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of random signs: `count` x pairs in all."""
    rows = max(1, BLOCK_COUNTS // pairs)
    for block, first in enumerate(range(0, count, rows)):
        yield _kept_signs(min(rows, count - first), pairs, f"{seed}/signs/{block}")


@lru_cache(maxsize=2)
def _kept_signs(rows: int, pairs: int, name: str) -> Floats:
    """Return random signs; most metrics of an experiment have as many pairs as the last one."""
    return draw_signs(rows, pairs, Random(name))


def draw_signs(rows: int, columns: int, random: Random) -> Floats:
    """Return random signs, plus as likely as minus."""
    size = rows * columns
    bits = np.unpackbits(np.frombuffer(random.randbytes(-(-size // 8)), dtype=np.uint8))
    return 1.0 - 2.0 * bits[:size].reshape(rows, columns).astype(np.float64)
