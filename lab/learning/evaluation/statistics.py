"""Interquartile means and improvements with intervals, for few training seeds.

Formulas: Agarwal et al., 2021, Deep Reinforcement Learning at the Edge of the Statistical Precipice, NeurIPS 34,
whose library rliable pins an old build of its bootstrap and is archived. Seeds are drawn, workloads are chosen: a
resample draws within each workload as many seeds as it has, with repeats (percentile interval).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Of an array (..., values), over its last axis."""
RESAMPLES = 2_000
CONFIDENCE = 0.95
TRIMMED = 0.25


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the limits of its confidence interval; NaN where nothing was left to resample."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Say whether the interval lies on one side of 0."""
        return self.low > 0.0 or self.high < 0.0


def iqm(values: Floats) -> Floats:
    """Return the mean of the middle half over the last axis: a quarter is cut at each end, rounded down."""
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    cut = int(TRIMMED * count)
    middle: Floats = ordered[..., cut : count - cut].mean(axis=-1)
    return middle


def mean(values: Floats) -> Floats:
    """Return the mean over the last axis."""
    found: Floats = values.mean(axis=-1)
    return found


def median(values: Floats) -> Floats:
    """Return the median over the last axis."""
    found: Floats = np.median(values, axis=-1)
    return found


def shares_up_to(limit: float) -> Statistic:
    """Return what gives the share of values at or below a limit, over the last axis."""
    return lambda values: mean((values <= limit).astype(np.float64))


def stratified(
    scores: Sequence[Floats],
    seed: int,
    statistics: Sequence[Statistic],
    confidence: float = CONFIDENCE,
) -> list[Interval]:
    """Return statistics of all scores together; training seeds and episodes are resampled within each workload.

    Args:
        scores: for each workload, seeds x episodes; a rule without seeds has one row.
        seed: of the resampling.
        statistics: of all scores.
        confidence: of the intervals.
    """
    whole = np.concatenate([of.ravel() for of in scores])
    values = [float(statistic(whole)) for statistic in statistics]
    if min(of.shape[1] for of in scores) < 2:
        return [Interval(value, math.nan, math.nan) for value in values]
    random = _random(seed)
    drawn = np.concatenate([_two_way(of, random).reshape(RESAMPLES, -1) for of in scores], axis=1)
    return [
        _interval(value, statistic(drawn), confidence)
        for value, statistic in zip(values, statistics, strict=True)
    ]


def aggregate(
    scores: Sequence[Floats], seed: int, confidence: float = CONFIDENCE, statistic: Statistic = iqm
) -> Interval:
    """Return a statistic over all runs of all workloads.

    Args:
        scores: one array for each workload, one value for each training seed.
        seed: of the resampling.
        confidence: of the interval, two-sided.
        statistic: of all values together.
    """
    value = float(statistic(np.concatenate(scores)))
    if min(map(len, scores)) < 2:
        return Interval(value, math.nan, math.nan)
    random = _random(seed)
    drawn = np.concatenate(
        [of[random.integers(0, len(of), (RESAMPLES, len(of)))] for of in scores], axis=1
    )
    return _interval(value, statistic(drawn), confidence)


def interquartile_mean(
    evaluations: Sequence[Sequence[Sequence[float]]], confidence: float, seed: int
) -> Interval:
    """Return the interquartile mean over seeds, of each one's mean over its episodes.

    Args:
        evaluations: for each workload, for each seed, the episodes' returns.
        confidence: of the interval.
        seed: of the resampling.
    """
    scores = [np.array([float(np.mean(row)) for row in rows]) for rows in evaluations]
    return aggregate(scores, seed, confidence)


def probability_of_improvement(
    ours: Sequence[Floats], theirs: Sequence[Floats], seed: int, confidence: float = CONFIDENCE
) -> Interval:
    """Return how likely a run of ours is above one of theirs, a tie counting half, the mean over workloads."""
    random = _random(seed)
    chances, drawn = [], []
    for mine, others in zip(ours, theirs, strict=True):
        above = (mine[:, None] > others[None, :]) + 0.5 * (mine[:, None] == others[None, :])
        chances.append(float(above.mean()))
        rows = random.integers(0, len(mine), (RESAMPLES, len(mine)))
        columns = random.integers(0, len(others), (RESAMPLES, len(others)))
        drawn.append(above[rows[:, :, None], columns[:, None, :]].mean(axis=(1, 2)))
    return _interval(float(np.mean(chances)), np.mean(drawn, axis=0), confidence)


def two_way_mean(values: Floats, seed: int, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean over seeds x episodes; both are resampled, and a rule without seeds has one row."""
    if values.shape[1] < 2:
        return Interval(float(values.mean()), math.nan, math.nan)
    random = _random(seed)
    drawn = _two_way(values, random).mean(axis=(1, 2))
    return _interval(float(values.mean()), drawn, confidence)


def _two_way(values: Floats, random: np.random.Generator) -> Floats:  # noqa: TID251 - a type
    """Return resamples x seeds x episodes, seeds and episodes drawn with repeats."""
    seeds, episodes = values.shape
    rows = random.integers(0, seeds, (RESAMPLES, seeds))
    columns = random.integers(0, episodes, (RESAMPLES, episodes))
    drawn: Floats = values[rows[:, :, None], columns[:, None, :]]
    return drawn


def relative_gain(
    ours: Floats, theirs: Floats, seed: int, confidence: float = CONFIDENCE
) -> Interval:
    """Return by which part our mean cost is below theirs, over the same episodes; positive is better.

    Training seeds and episodes are both resampled, each episode together with what the other made of it: the
    interval holds for another training and other episodes of the same kind.

    Args:
        ours: cost, seeds x episodes.
        theirs: cost, seeds x episodes, or episodes alone; their seeds are resampled, too.
        seed: of the resampling.
        confidence: of the interval.
    """
    seeds, episodes = ours.shape
    theirs = np.atleast_2d(theirs)
    value = 1.0 - float(ours.mean()) / float(theirs.mean())
    if episodes < 2:
        return Interval(value, math.nan, math.nan)
    random = _random(seed)
    gains = np.empty(RESAMPLES)
    for number in range(RESAMPLES):
        rows = random.integers(0, seeds, seeds)
        columns = random.integers(0, episodes, episodes)
        # One row needs no draw.
        others = (
            random.integers(0, len(theirs), len(theirs))
            if len(theirs) > 1
            else np.zeros(1, np.int64)
        )
        gains[number] = (
            1.0 - ours[np.ix_(rows, columns)].mean() / theirs[np.ix_(others, columns)].mean()
        )
    return _interval(value, gains, confidence)


def _random(seed: int) -> np.random.Generator:  # noqa: TID251 - a type
    return np.random.Generator(np.random.PCG64(seed))  # noqa: TID251 - made from a seed


def _interval(value: float, drawn: Floats, confidence: float) -> Interval:
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(drawn, (tail, 1.0 - tail))
    return Interval(value, float(low), float(high))
