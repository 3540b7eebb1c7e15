"""What one arm changes against another, metric by metric: how much, how surely, where, and at the worst.

Differences are arm minus reference in the metric's own unit; `gain` turns them so that more is better. A mean over
workloads gives each the same weight, whatever its number of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from lab.experiments.metrics import METRICS, Metric
from lab.experiments.pairing import MissingValue, PairedMetric, Stratum
from lab.experiments.resampling import SignFlips, mean_intervals, outer_quantiles, resampling
from lab.experiments.spec import Inference
from projections.quantiles import student_quantile

Floats = npt.NDArray[np.float64]
Verdict = Literal["helps", "harms", "unclear", "equal", "too few"]
POWER = 0.8
"""Probability with which the smallest detectable effect would have been seen."""
WORST_SHARE = 0.1
FIRST_QUARTER, LAST_QUARTER = 0.25, 0.75


@dataclass(frozen=True, slots=True)
class ConfidenceInterval:
    """A value and its two-sided interval; NaN limits where pairs are too few for one."""

    value: float
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low + self.high)

    def gain(self, metric: Metric) -> ConfidenceInterval:
        """Return the same so that more is better."""
        if metric.better == "higher":
            return self
        return ConfidenceInterval(-self.value, -self.high, -self.low)


@dataclass(frozen=True, slots=True)
class WorstSeed:
    """The world in which an arm did worst against the other."""

    workload: str
    seed: int
    difference: float


@dataclass(frozen=True, slots=True)
class WorkloadEffect:
    """The effect on one workload."""

    workload: str
    pairs: int
    arm_mean: float
    reference_mean: float
    difference: ConfidenceInterval
    p: float
    worst: WorstSeed
    worst_tenth: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ArmEffect:
    """The effect of an arm on a metric, over all workloads to which it applies."""

    metric: str
    arm: str
    reference: str
    pairs: int
    arm_mean: float
    reference_mean: float
    difference: ConfidenceInterval
    """Mean paired difference."""
    middle: ConfidenceInterval
    """Interquartile mean of the paired differences: without the quarter that is lowest and the one that is highest."""
    better: float
    """Share of worlds in which the arm was better than the reference; `equal` ones count half."""
    equal: float
    improvement: ConfidenceInterval
    """Probability that the arm in a random world is better than the reference in another one of that workload."""
    p: float
    """Of the sign-flip test, two-sided, for this arm alone."""
    p_adjusted: float
    """Holm's over all arms that the reference is compared with on this metric."""
    detectable: float
    """Smallest true difference that would have been seen with a probability of 80 %; NaN without a spread."""
    worst: WorstSeed
    worst_tenth: float
    """Mean difference of the tenth of worlds in which the arm did worst."""
    workloads: tuple[WorkloadEffect, ...]
    missing: tuple[MissingValue, ...]
    verdict: Verdict

    @property
    def gain(self) -> ConfidenceInterval:
        """The mean difference so that more is better."""
        return self.difference.gain(METRICS[self.metric])

    @property
    def relative(self) -> float:
        """The mean difference as a part of the reference's mean; NaN where that is 0."""
        if self.reference_mean == 0.0:
            return math.nan
        return self.difference.value / abs(self.reference_mean)

    def adjusted(self, p_adjusted: float, confidence: float) -> ArmEffect:
        """Return the same with a p-value over all arms, and the verdict that follows."""
        gain = self.gain
        verdict = verdict_of(gain, p_adjusted, confidence, equal=self.equal == 1.0)
        return replace(self, p_adjusted=p_adjusted, verdict=verdict)


def verdict_of(
    gain: ConfidenceInterval, p: float, confidence: float, *, equal: bool = False
) -> Verdict:
    """Return what may be said: help needs interval and test, harm the interval alone."""
    if equal:
        return "equal"
    if not gain.known:
        return "too few"
    if gain.high < 0.0:
        return "harms"
    return "helps" if gain.low > 0.0 and p <= 1.0 - confidence else "unclear"


def compute_effect(
    paired: PairedMetric, arm: str, reference: str, inference: Inference
) -> ArmEffect | None:
    """Return the effect on a metric; None where no pair has it. Its p-value is not adjusted yet."""
    if not paired.strata:
        return None
    metric = METRICS[paired.metric]
    strata = paired.strata
    differences = [stratum.difference for stratum in strata]
    difference, error = _mean_interval(differences, inference)
    p = _p_value(differences, inference)
    weights = np.concatenate([np.full(len(one), 1.0 / len(one)) for one in differences])
    weights /= len(differences)
    gains = np.concatenate([_gains(stratum, metric) for stratum in strata])
    equal = _total(weights[gains == 0.0])
    equal_everywhere = bool((gains == 0.0).all())
    verdict = verdict_of(difference.gain(metric), p, inference.confidence, equal=equal_everywhere)
    return ArmEffect(
        metric=paired.metric,
        arm=arm,
        reference=reference,
        pairs=len(gains),
        arm_mean=_over_workloads([stratum.arm for stratum in strata]),
        reference_mean=_over_workloads([stratum.reference for stratum in strata]),
        difference=difference,
        middle=_interquartile_mean(differences, inference),
        better=_total(weights[gains > 0.0]) + equal / 2.0,
        equal=1.0 if equal_everywhere else equal,
        improvement=_improvement(strata, metric, inference),
        p=p,
        p_adjusted=p,
        detectable=_detectable(error, differences, inference.confidence),
        worst=_worst(strata, metric),
        worst_tenth=metric.gain(_lowest_mean(gains, weights)),
        workloads=tuple(_workload_effect(stratum, metric, inference) for stratum in strata),
        missing=paired.missing,
        verdict=verdict,
    )


def _workload_effect(stratum: Stratum, metric: Metric, inference: Inference) -> WorkloadEffect:
    difference, _ = _mean_interval([stratum.difference], inference)
    p = _p_value([stratum.difference], inference)
    gains = _gains(stratum, metric)
    equal = bool((gains == 0.0).all())
    return WorkloadEffect(
        workload=stratum.workload,
        pairs=len(gains),
        arm_mean=_over_workloads([stratum.arm]),
        reference_mean=_over_workloads([stratum.reference]),
        difference=difference,
        p=p,
        worst=_worst([stratum], metric),
        worst_tenth=metric.gain(_lowest_mean(gains, np.full(len(gains), 1.0 / len(gains)))),
        verdict=verdict_of(difference.gain(metric), p, inference.confidence, equal=equal),
    )


def _mean_interval(
    differences: Sequence[Floats], inference: Inference
) -> tuple[ConfidenceInterval, float]:
    columns = [one[:, None] for one in differences]
    found = mean_intervals(columns, inference.confidence, inference.resamples, inference.seed)
    interval = ConfidenceInterval(float(found.mean[0]), float(found.low[0]), float(found.high[0]))
    return interval, float(found.error[0])


def _p_value(differences: Sequence[Floats], inference: Inference) -> float:
    flips = SignFlips(differences, inference.resamples, inference.seed)
    return float(flips.p_values([one[:, None] for one in differences])[0])


def _interquartile_mean(differences: Sequence[Floats], inference: Inference) -> ConfidenceInterval:
    """Return the mean of the middle half of all differences, each workload weighing the same.

    Agarwal et al. (2021): less drawn by outliers than the mean, less wasteful than the median. The interval is the
    percentile one, as theirs.
    """
    values = np.concatenate(differences)
    order = np.argsort(values, kind="stable")
    sizes = tuple(len(one) for one in differences)
    weights = np.concatenate([np.full(size, 1.0 / (size * len(sizes))) for size in sizes])

    def middle(times: Floats) -> Floats:
        reached = np.cumsum((times * weights)[:, order], axis=1)
        np.clip(reached, FIRST_QUARTER, LAST_QUARTER, out=reached)
        # The sum of (reached - reached before) x value, with no second table of that size.
        steps = np.diff(values[order], append=0.0)
        total = -(reached @ steps) - FIRST_QUARTER * values[order[0]]
        means: Floats = total / (LAST_QUARTER - FIRST_QUARTER)
        return means

    value = float(middle(np.ones((1, len(values))))[0])
    if min(sizes) < 2:
        return ConfidenceInterval(value, math.nan, math.nan)
    if np.ptp(values) == 0.0:
        return ConfidenceInterval(*[float(values[0])] * 3)
    draws = resampling(sizes, inference.resamples, inference.seed)
    drawn = [middle(np.concatenate(counts, axis=1)) for _, counts in draws.blocks()]
    return _percentiles(value, np.concatenate(drawn), inference.confidence)


def _improvement(
    strata: Sequence[Stratum], metric: Metric, inference: Inference
) -> ConfidenceInterval:
    """Return the probability of improvement (Agarwal et al., 2021): over all pairs of seeds of a workload, the
    share in which the arm's value is the better one, equal ones counted half; averaged over workloads. Resamples
    keep the pairing.
    """
    wins = []
    for stratum in strata:
        gain = stratum.arm[:, None] - stratum.reference[None, :]
        wins.append((np.sign(gain if metric.better == "higher" else -gain) + 1.0) / 2.0)
    value = math.fsum(float(one.mean()) for one in wins) / len(wins)
    sizes = tuple(len(one) for one in wins)
    if min(sizes) < 2:
        return ConfidenceInterval(value, math.nan, math.nan)
    drawn = []
    for _, counts in resampling(sizes, inference.resamples, inference.seed).blocks():
        shares = [
            np.einsum("ri,ri->r", times @ won, times) / len(won) ** 2
            for times, won in zip(counts, wins, strict=True)
        ]
        drawn.append(sum(shares, np.zeros_like(shares[0])) / len(shares))
    return _percentiles(value, np.concatenate(drawn), inference.confidence)


def _percentiles(value: float, drawn: Floats, confidence: float) -> ConfidenceInterval:
    low, high = outer_quantiles(drawn[:, None], (1.0 - confidence) / 2.0)
    return ConfidenceInterval(value, float(low[0]), float(high[0]))


def _detectable(error: float, differences: Sequence[Floats], confidence: float) -> float:
    """Return the minimum detectable effect: (t of the level + t of the power) x standard error.

    Bloom (1995), Minimum Detectable Effects, Evaluation Review 19.
    """
    freedom = sum(map(len, differences)) - len(differences)
    if math.isnan(error) or freedom < 1:
        return math.nan
    level = student_quantile((1.0 + confidence) / 2.0, freedom)
    return (level + student_quantile(POWER, freedom)) * error


def _worst(strata: Sequence[Stratum], metric: Metric) -> WorstSeed:
    """Return the pair with the lowest gain, the first by workload and seed among equals."""
    rows = [
        (float(gain), stratum.workload, seed)
        for stratum in strata
        for gain, seed in zip(_gains(stratum, metric), stratum.seeds, strict=True)
    ]
    gain, workload, seed = min(rows)
    return WorstSeed(workload, seed, metric.gain(gain))


def _lowest_mean(gains: Floats, weights: Floats) -> float:
    """Return the mean of the lowest tenth by weight, a pair that straddles it counted in part.

    The conditional value at risk of Rockafellar and Uryasev (2000), Optimization of Conditional Value-at-Risk,
    Journal of Risk 2.
    """
    order = np.argsort(gains, kind="stable")
    reached = np.minimum(np.cumsum(weights[order]), WORST_SHARE)
    inside = np.diff(reached, prepend=0.0)
    return _total(inside * gains[order]) / WORST_SHARE


def _gains(stratum: Stratum, metric: Metric) -> Floats:
    return stratum.difference if metric.better == "higher" else -stratum.difference


def _over_workloads(values: Sequence[Floats]) -> float:
    """Return the mean of the workloads' means."""
    return math.fsum(_total(one) / len(one) for one in values) / len(values)


def _total(values: Floats) -> float:
    return math.fsum(values.tolist())
