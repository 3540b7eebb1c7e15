"""Expected against observed, kind by kind: ratio of sums with interval, quarters by expectation, the worst tenth."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lab.calibration.samples import ActionSample, WorldSamples
from lab.experiments.resampling import resampling

LEAST_RATIO, MOST_RATIO = 0.8, 1.25
"""Of observed over expected, for a kind to count as calibrated; fixed beforehand."""
FEWEST = 30
"""Samples of a kind below which nothing is concluded."""
CONFIDENCE = 0.95
RESAMPLES = 2_000
SEED = 7
QUARTERS = 4
WORST_SHARE = 0.1

Verdict = Literal["calibrated", "too high", "too low", "too few"]


@dataclass(frozen=True, slots=True)
class Quarter:
    """A quarter of the samples, by what was expected."""

    count: int
    expected: float
    observed: float
    """Means, in money."""


@dataclass(frozen=True, slots=True)
class KindTable:
    """Known facts about one kind; money is the mean of an action over its horizon."""

    kind: str
    count: int
    worlds: int
    executed: int
    """Actions of this kind in the worlds that were played, sampled or not."""
    expected: float
    observed: float
    score: float
    """Observed in the outcome score alone."""
    ratio: float
    """Sum of what was observed over the sum of what was expected; NaN where nothing was expected."""
    low: float
    high: float
    """Limits of its interval; NaN with fewer than two worlds."""
    within: float
    """Share of the samples within the interval that was stated, which 8 of 10 should be."""
    quarters: tuple[Quarter, ...]
    worst: float
    """Mean of the worst tenth of what was observed."""
    terms: dict[str, tuple[float, float]]
    """(expected, observed) by component of the score."""

    @property
    def verdict(self) -> Verdict:
        """Return whether the expectation may be relied on."""
        if self.count < FEWEST:
            return "too few"
        if LEAST_RATIO <= self.ratio <= MOST_RATIO:
            return "calibrated"
        return "too low" if self.ratio > MOST_RATIO else "too high"


def kind_tables(worlds: Iterable[WorldSamples], most: int) -> list[KindTable]:
    """Return a table for each kind, of its first `most` samples in the order of the seeds."""
    executed: Counter[str] = Counter()
    samples: defaultdict[str, list[tuple[int, ActionSample]]] = defaultdict(list)
    for world in sorted(worlds, key=lambda one: one.seed):
        executed.update(world.executed)
        for sample in world.samples:
            if len(samples[sample.kind]) < most:
                samples[sample.kind].append((world.seed, sample))
    kinds = sorted({*executed, *samples})
    return [_kind_table(kind, samples[kind], executed[kind]) for kind in kinds if samples[kind]]


def _kind_table(kind: str, drawn: Sequence[tuple[int, ActionSample]], executed: int) -> KindTable:
    samples = [sample for _, sample in drawn]
    sums: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for seed, sample in drawn:
        sums[seed][0] += sample.expected
        sums[seed][1] += sample.observed
    ratio, low, high = ratio_interval([(expected, seen) for expected, seen in sums.values()])
    worst = sorted(sample.observed for sample in samples)[: math.ceil(WORST_SHARE * len(samples))]
    return KindTable(
        kind=kind,
        count=len(samples),
        worlds=len(sums),
        executed=executed,
        expected=statistics.fmean(one.expected for one in samples),
        observed=statistics.fmean(one.observed for one in samples),
        score=statistics.fmean(one.score for one in samples),
        ratio=ratio,
        low=low,
        high=high,
        within=statistics.fmean(one.low <= one.observed <= one.high for one in samples),
        quarters=tuple(_quarters(samples)),
        worst=statistics.fmean(worst),
        terms=_terms(samples),
    )


def ratio_interval(sums: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Return observed over expected and its interval, by drawing worlds with repeats.

    Actions of one world are alike, so that worlds are drawn and not actions (Efron and Tibshirani, 1993, An
    Introduction to the Bootstrap, 8.3); the limits are percentiles.

    Args:
        sums: (expected, observed) of each world.
    """
    values = np.asarray(sums, dtype=np.float64)
    expected, observed = values.sum(axis=0)
    ratio = _ratio(observed, expected)
    if len(values) < 2:
        return ratio, math.nan, math.nan
    totals = np.vstack(
        [times @ values for _, (times,) in resampling((len(values),), RESAMPLES, SEED).blocks()]
    )
    ratios = totals[:, 1] / np.where(totals[:, 0] == 0.0, np.nan, totals[:, 0])
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.nanquantile(ratios, (tail, 1.0 - tail))
    return ratio, float(low), float(high)


def _ratio(observed: float, expected: float) -> float:
    return float(observed / expected) if expected else math.nan


def _quarters(samples: Sequence[ActionSample]) -> Iterable[Quarter]:
    ordered = sorted(samples, key=lambda one: one.expected)
    for number in range(QUARTERS):
        part = ordered[number * len(ordered) // QUARTERS : (number + 1) * len(ordered) // QUARTERS]
        if part:
            yield Quarter(
                len(part),
                statistics.fmean(one.expected for one in part),
                statistics.fmean(one.observed for one in part),
            )


def _terms(samples: Sequence[ActionSample]) -> dict[str, tuple[float, float]]:
    expected: defaultdict[str, float] = defaultdict(float)
    observed: defaultdict[str, float] = defaultdict(float)
    for one in samples:
        for name, money in one.expected_terms.items():
            expected[name] += money
        for name, money in one.components.items():
            observed[name.partition("/")[0]] += money
        if one.capacity:
            observed["capacity"] += one.capacity
    names = sorted({*expected, *observed})
    return {name: (expected[name] / len(samples), observed[name] / len(samples)) for name in names}
