"""Performance profiles: how large a share of worlds an arm gained more than a given part in.

Agarwal et al. (2021), after Dolan and More (2002), Benchmarking Optimization Software with Performance Profiles,
Mathematical Programming 91. A mean can hide that most of it comes from a few worlds; a profile cannot.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.experiments.metrics import METRICS, Metric
from lab.experiments.pairing import PairedMetric, Stratum

TAUS = tuple(step / 40 for step in range(-20, 21))
"""Gains as a part of the reference's mean on the workload, from half of it lost to half of it gained."""


@dataclass(frozen=True, slots=True)
class Profile:
    """An arm's profile on a metric."""

    arm: str
    metric: str
    shares: tuple[float, ...]
    """For each of `TAUS` the share of worlds whose relative gain is above it, each workload weighing the same."""


def profile_of(paired: PairedMetric, arm: str, taus: Sequence[float] = TAUS) -> Profile:
    """Return an arm's profile; NaN without a pair."""
    metric = METRICS[paired.metric]
    by_workload = [_relative_gains(stratum, metric) for stratum in paired.strata]
    return Profile(arm, paired.metric, tuple(_share_above(by_workload, tau) for tau in taus))


def _share_above(by_workload: Sequence[Sequence[float]], tau: float) -> float:
    if not by_workload:
        return math.nan
    shares = [sum(gain > tau for gain in gains) / len(gains) for gains in by_workload]
    return math.fsum(shares) / len(shares)


def _relative_gains(stratum: Stratum, metric: Metric) -> list[float]:
    """Return gains over the reference's mean size; where that is 0, every gain or loss is without bound."""
    size = abs(math.fsum(stratum.reference.tolist()) / len(stratum.reference))
    gains = [metric.gain(value) for value in stratum.difference.tolist()]
    if size == 0.0:
        return [math.copysign(math.inf, gain) if gain else 0.0 for gain in gains]
    return [gain / size for gain in gains]
