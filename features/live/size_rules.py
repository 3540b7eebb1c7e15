"""How many cores pods of a workload should be counted with: simple rules over what it used so far, side by side.

`pooled` is what is acted upon: cores are a share and no bound, so what counts is that a machine's pods do not want
more together than there is. Each gets its level, and of the deviation of all on its machine as much as it adds to
it (effective bandwidth: the sum over a machine is its level and `SIGMAS` deviations of the sum). The others are what
is used elsewhere: a decaying percentile and the same hour before; Crane's percentile, which is what Bashir et al.
(EuroSys 2021) call RC-like; their N-sigma; and the larger of both. Which is how tight and how often too small:
`python -m lab.forecast.sizes`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from features.workload_history.grid import DAY_STEPS

SizeRule = Literal["pooled", "percentile", "crane", "n-sigma", "larger"]
SIZE_RULES: tuple[SizeRule, ...] = get_args(SizeRule)
Floats = NDArray[np.float64]

SIGMAS, SIGMAS_OF_PEAK = 3.0, 5.0
"""Deviations of a machine's sum above its level; the latter is N-sigma's own."""
HALF_LIFE_STEPS = DAY_STEPS
"""Each day counts half of the one after it, as for the Vertical Pod Autoscaler and Crane."""
AHEAD_STEPS = 12
"""An hour: what came then, a day and a week ago, is expected again."""
STRANGER_STEPS = 6
"""Of a workload that is known for so long its own deviation and the usual one count alike: our own choice."""
RECENT_STEPS = 6
"""Half an hour: what is used since then counts where it lies above the level by more than a deviation."""


class PastUse(NamedTuple):
    """What workloads used so far, and how their pods lie on machines; each of (workloads,)."""

    level: Floats
    """Cores of all pods together, in the mean that is to be expected."""
    deviation: Floats
    """Standard deviation of them, by weight."""
    mean: Floats
    percentile: Floats
    """The 95th by weight, and not below the newest steps and the same hour before."""
    upper: Floats
    """The 99th by weight."""


class Spread(NamedTuple):
    """How the pods of workloads lie on machines."""

    pods: Floats
    """(workloads,) of each."""
    machines: int
    """That have any."""

    @property
    def together(self) -> Floats:
        """Return how many pods of each lie on one machine, at least one: they peak together."""
        return np.maximum(1.0, self.pods / max(1, self.machines))


def past_use(values: Floats) -> PastUse:
    """Return what is known of (series, steps), oldest step first, NaN where unknown; 0 where nothing is."""
    known = ~np.isnan(values)
    age = np.arange(values.shape[1])[::-1]
    weights = np.where(known, 0.5 ** (age / HALF_LIFE_STEPS), 0.0)
    total = np.maximum(weights.sum(axis=1), np.finfo(float).tiny)
    filled = np.where(known, values, 0.0)
    mean = (weights * filled).sum(axis=1) / total
    variance = (weights * (filled - mean[:, None]) ** 2).sum(axis=1) / total
    deviation = _steadied(np.sqrt(variance), mean, known.sum(axis=1))
    recent = _mean(values[:, -RECENT_STEPS:]) - deviation
    before = [_mean(part) for part in _same_hour(values)]
    most = highest(values)
    return PastUse(
        level=np.maximum.reduce([mean, recent, *before]),
        deviation=deviation,
        mean=mean,
        percentile=_percentile_rule(values, most),
        upper=percentile(values, 0.99),
    )


def cores_of(rule: SizeRule, past: PastUse, spread: Spread) -> Floats:
    """Return (workloads,) cores that all pods of each are to be counted with, without a margin."""
    return _RULES[rule](past, spread)


def pooled(level: Floats, past: PastUse, spread: Spread, sigmas: float) -> Floats:
    """Return levels and each workload's part of so many deviations of what a machine's pods use together.

    Pods of one workload on a machine rise and fall together, those of others by themselves: that is how their
    variances add up. Nobody gets more than if there were no other.
    """
    pods = np.maximum(1.0, spread.pods)
    own = past.deviation / pods
    variance = float((pods * spread.together * own**2).sum()) / max(1, spread.machines)
    if variance <= 0.0:
        return level
    part = spread.together * own**2 / np.sqrt(variance)
    cores: Floats = level + sigmas * pods * np.minimum(part, own)
    return cores


def _n_sigma(past: PastUse, spread: Spread) -> Floats:
    return pooled(past.mean, past, spread, SIGMAS_OF_PEAK)


_RULES: Mapping[SizeRule, Callable[[PastUse, Spread], Floats]] = {
    "pooled": lambda past, spread: pooled(past.level, past, spread, SIGMAS),
    "percentile": lambda past, _: past.percentile,
    "crane": lambda past, _: past.upper,
    "n-sigma": _n_sigma,
    "larger": lambda past, spread: np.maximum(past.upper, _n_sigma(past, spread)),
}


def percentile(values: Floats, share: float) -> Floats:
    """Return (series,) percentiles of (series, steps) by decaying weight; 0 where nothing is known."""
    age = np.arange(values.shape[1])[::-1]
    weights = np.where(np.isnan(values), 0.0, 0.5 ** (age / HALF_LIFE_STEPS))
    order = np.argsort(np.where(np.isnan(values), np.inf, values), axis=1)
    reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    place = (reached >= share * reached[:, -1:]).argmax(axis=1)
    ranked = np.take_along_axis(values, order, axis=1)
    found: Floats = np.nan_to_num(ranked[np.arange(len(values)), place])
    return found


def highest(values: Floats) -> Floats:
    """Return the highest known value of each row; 0 where none is."""
    known: Floats = np.nan_to_num(values, nan=0.0).max(axis=1, initial=0.0)
    return known


def _steadied(deviation: Floats, mean: Floats, steps: NDArray[np.int64]) -> Floats:
    """Return deviations in which `STRANGER_STEPS` count with the usual ratio of all: two steps say next to nothing."""
    told = (steps > 1) & (mean > 0.0)
    if not told.any():
        return deviation
    usual = float(np.median(deviation[told] / mean[told])) * mean
    steady: Floats = np.sqrt(
        (steps * deviation**2 + STRANGER_STEPS * usual**2) / (steps + STRANGER_STEPS)
    )
    return steady


def _percentile_rule(values: Floats, most: Floats) -> Floats:
    """Return the 95th percentile, the newest use and that of this hour before, or of less than a day the most."""
    is_new = (~np.isnan(values)).sum(axis=1) < DAY_STEPS
    decayed = np.where(is_new, most, percentile(values, 0.95))
    before = [highest(part) for part in _same_hour(values)]
    peaks: Floats = np.maximum.reduce([decayed, highest(values[:, -2:]), *before])
    return peaks


def _same_hour(values: Floats) -> list[Floats]:
    """Return the hour ahead as it was a day and a week ago, as far as so much is kept."""
    steps = values.shape[1]
    return [
        values[:, steps - before : steps - before + AHEAD_STEPS]
        for before in (DAY_STEPS, 7 * DAY_STEPS)
        if before <= steps
    ]


def _mean(values: Floats) -> Floats:
    known = (~np.isnan(values)).sum(axis=1)
    means: Floats = np.nan_to_num(values).sum(axis=1) / np.maximum(1, known)
    return means
