"""Scores of limits: violations, savings, pinball loss, and differences over whole series.

Savings are the mean of 1 - limit / (largest window of the whole series, in hindsight): the traces
have no requests, so a static reservation of the peak stands in for one. They can be negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

import numpy as np

from features.series.quantiles import Floats
from features.series.rules import DAY_WINDOWS
from lab.forecast.demand.origins import Ints, Origins
from lab.forecast.demand.split import Horizon

RESAMPLES = 500
MANY_VIOLATIONS = 0.10
JUST = 1e-9
"""A peak that exceeds its limit by rounding alone is no violation."""


@dataclass(frozen=True)
class Score:
    """One method's limits on the test rows of one family."""

    violation: float
    savings: float
    pinball: float
    """Pinball loss at 1 - target, as a share of the series' largest window."""
    owners_over: float
    """Share of owners whose own violation is above 10 %."""


@dataclass(frozen=True)
class Difference:
    """A mean difference and its 95 % interval over resampled units."""

    value: float
    low: float
    high: float
    units: int
    unit: str


def violations(limits: Floats, peaks: Floats) -> np.ndarray:
    """Return where the peak lies above the limit."""
    return peaks > limits * (1.0 + JUST)


def savings_of(limits: Floats, rows: Origins, test: Ints) -> Floats:
    """Return each test row's share that need not be reserved."""
    return 1.0 - limits[test] / rows.top[test]


def score(limits: Floats, rows: Origins, test: Ints, horizon: Horizon, target: float) -> Score:
    """Return the scores of `limits` (all rows) on the rows `test`."""
    peaks = rows.peaks[test, horizon.column]
    over = violations(limits[test], peaks)
    miss = (peaks - limits[test]) / rows.top[test]
    quantile = 1.0 - target
    loss = np.maximum(quantile * miss, (quantile - 1.0) * miss)
    owners = rows.owner[test]
    counts = np.bincount(owners)
    rates = np.bincount(owners, over)[counts > 0] / counts[counts > 0]
    return Score(
        violation=float(over.mean()),
        savings=float(savings_of(limits, rows, test).mean()),
        pinball=float(loss.mean()),
        owners_over=float((rates > MANY_VIOLATIONS).mean()),
    )


def difference(left: Floats, right: Floats, rows: Origins, test: Ints, seed: int) -> Difference:
    """Return the mean of left - right savings and its interval over resampled owners.

    A family of one owner is resampled by days instead.
    """
    owners = rows.owner[test]
    single = len(np.unique(owners)) == 1
    units = rows.step[test] // DAY_WINDOWS if single else owners
    names, place = np.unique(units, return_inverse=True)
    gains = savings_of(left, rows, test) - savings_of(right, rows, test)
    totals = np.bincount(place, gains).tolist()
    counts = np.bincount(place).tolist()
    random = Random(seed)
    means = sorted(_resample(totals, counts, random) for _ in range(RESAMPLES))
    return Difference(
        value=float(gains.mean()),
        low=means[int(0.025 * RESAMPLES)],
        high=means[int(0.975 * RESAMPLES) - 1],
        units=len(names),
        unit="days" if single else "series",
    )


def _resample(totals: list[float], counts: list[int], random: Random) -> float:
    units = random.choices(range(len(totals)), k=len(totals))
    return math.fsum(totals[unit] for unit in units) / sum(counts[unit] for unit in units)
