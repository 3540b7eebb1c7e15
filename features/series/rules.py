"""Rules that set a limit from a series' past: what a learned model has to beat.

Each rule reads only windows before the origin. Source: N-sigma, RC-like and their maximum are Bashir et al.,
"Take it to the limit", EuroSys 2021. Those that only a comparison needs are in `lab.forecast.demand.baselines`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from features.series.quantiles import Floats

WINDOW_SECONDS = 300
DAY_WINDOWS = 288
HISTORY_WINDOWS = 24
"""Two hours: the history that the rules of Bashir et al. read."""

SIGMAS = 5.0
RC_LEVEL = 0.95


def last_value(recent: Floats) -> Floats:
    """Return the newest known window of each row of `recent` (series, windows), NaN without one."""
    known = ~np.isnan(recent)
    newest = recent.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1)
    newest_values: Floats = recent[np.arange(len(recent)), newest]
    return newest_values


def n_sigma(recent: Floats, sigmas: float = SIGMAS) -> Floats:
    """Return mean + `sigmas` population standard deviations of the last two hours."""
    mean, deviation = row_mean_deviation(recent[:, -HISTORY_WINDOWS:])
    return mean + sigmas * deviation


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
