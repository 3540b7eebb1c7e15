"""The rate at which the objective breaks: a curve that only rises, fitted to what was seen.

The chance that a window at rate r breaks the objective is a logistic curve in log r with its middle at the capacity
c, and a small share of windows that break, or hold, for another reason. The posterior of c over a grid, its
steepness summed out, gives a value and an interval. A prior from CPU makes it useful before anything was seen; what
was seen outweighs it after a few windows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from features.live.capacity.evidence import Bin, CpuSums, rate_of

Source = Literal["seen", "prior", "borne"]
UTILISATION = 0.8
"""Share of the requested CPU at which a replica is taken to be full, until more is seen."""
PRIOR_SPREAD = 0.3
"""Standard deviation of the prior in log rate, a factor of 1.35: our own guess."""
LAPSE = 0.03
"""Share of windows that say the opposite of what the rate explains."""
STEEPNESS = (0.03, 0.06, 0.12, 0.24)
"""Widths of the curve in log rate that are weighed against one another."""
GRID, REACH = 121, 1.5
"""Points of the grid, and how far it goes beyond what was seen or assumed, in log rate."""
LEVELS = (0.05, 0.5, 0.95)
FEWEST = 3.0
"""Windows that held, and that broke, without which nothing is called seen."""
PRIOR_LOOKS = 0.3
"""Looks at rates that vary as widely as they are high that "an idle replica uses nothing" counts as."""
BORNE = 0.5
"""Windows at a rate, old ones counting less, that make it one that was borne."""


class Capacity(NamedTuple):
    """Requests a second that one replica bears."""

    value: float
    low: float
    """One in twenty is expected below."""
    high: float | None
    """One in twenty is expected above; None where nothing was seen to break and nothing is assumed."""
    windows: float
    """Windows that it rests on, old ones counting less."""
    source: Source
    """`seen`: windows held below and broke above. `prior`: mostly what CPU lets expect. `borne`: only the largest
    rate at which the objective was kept.
    """


def cpu_capacity(sums: CpuSums, request_cores: float | None) -> float | None:
    """Return the rate at which a replica uses `UTILISATION` of the CPU that it requests; None where unknown."""
    if not request_cores or sums.count < 1.0 or sums.rate <= 0.0 or sums.cores <= 0.0:
        return None
    rate, cores = sums.rate / sums.count, sums.cores / sums.count
    variance = sums.rate_rate / sums.count - rate * rate
    # A straight line through few looks at nearly one rate says anything of rates far off: it is drawn to the origin.
    doubt = PRIOR_LOOKS / sums.count
    covariance = sums.rate_cores / sums.count - rate * cores + doubt * rate * cores
    fitted = covariance / (max(0.0, variance) + doubt * rate * rate)
    idle = min(max(0.0, cores - fitted * rate), cores)
    slope = (cores - idle) / rate
    left = UTILISATION * request_cores - idle
    return left / slope if slope > 0.0 and left > 0.0 else None


def fit_capacity(bins: Mapping[int, Bin], prior_rate: float | None) -> Capacity | None:
    """Return what one replica bears; None where nothing was seen and nothing is assumed."""
    kept = math.fsum(one.kept for one in bins.values())
    broken = math.fsum(one.broken for one in bins.values())
    borne = max(
        (rate_of(number) for number, one in bins.items() if one.kept >= BORNE), default=None
    )
    windows = kept + broken
    if prior_rate is None and broken < FEWEST:
        return None if borne is None else Capacity(borne, borne, None, windows, "borne")
    low, value, high = _quantiles(bins, prior_rate)
    source: Source = "seen" if kept >= FEWEST and broken >= FEWEST else "prior"
    return Capacity(value, low, high, windows, source)


def _quantiles(bins: Mapping[int, Bin], prior_rate: float | None) -> tuple[float, float, float]:
    rates = np.array([rate_of(number) for number in bins])
    known = [*rates.tolist(), *(() if prior_rate is None else (prior_rate,))]
    grid = np.linspace(math.log(min(known)) - REACH, math.log(max(known)) + REACH, GRID)
    log_odds = np.zeros(GRID)
    if prior_rate is not None:
        log_odds -= 0.5 * ((grid - math.log(prior_rate)) / PRIOR_SPREAD) ** 2
    kept = np.array([one.kept for one in bins.values()])
    broken = np.array([one.broken for one in bins.values()])
    by_width = np.stack([log_odds + _fit(grid, rates, kept, broken, width) for width in STEEPNESS])
    weights = np.exp(by_width - by_width.max()).sum(axis=0)
    share = (np.cumsum(weights) - weights / 2.0) / weights.sum()
    low, value, high = np.exp(np.interp(LEVELS, share, grid)).tolist()
    return low, value, high


def _fit(
    grid: np.ndarray, rates: np.ndarray, kept: np.ndarray, broken: np.ndarray, width: float
) -> np.ndarray:
    """Return the log likelihood of each capacity of the grid."""
    if not len(rates):
        return np.zeros(len(grid))
    place = np.clip((np.log(rates)[:, None] - grid[None, :]) / width, -50.0, 50.0)
    breaks = LAPSE + (1.0 - 2.0 * LAPSE) / (1.0 + np.exp(-place))
    return np.asarray(kept @ np.log1p(-breaks) + broken @ np.log(breaks))
