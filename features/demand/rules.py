"""The simple rules, each with bands from its own past errors, and the points that a trained model leans on.

A rule that lacks its history says what the one before it in `FALLBACK` says, so that every rule is a forecast from
the first known value on and all can be compared. Errors are kept as shares of the root of the point: between those
of counts, whose spread grows with the root, and those of shapes, whose spread grows with the level; of both the
spread stays nearly the same over a day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.demand.past import (
    DAY_SECONDS,
    HOUR_SECONDS,
    QUANTILES,
    WEEK_SECONDS,
    Ints,
    Origins,
    Past,
)
from features.demand.seasonal import fourier, holt_winters
from features.series.quantiles import Floats

RULES = ("last_value", "hour_mean", "seasonal_day", "seasonal_week", "holt_winters", "fourier")
LEANT_ON = (
    *RULES,
    *("mean_5m", "mean_15m", "trend", "day_smooth", "day_moved", "week_moved", "days_moved"),
    *("last_value_day", "week_smooth", "mean_30m", "hours_moved"),
)
"""Points that are mixed to the base of a trained model."""
QUARTER_SECONDS = 900
MOST_GROWTH = 4.0
RISE = 1.1
BAND_ORIGINS = 192
"""Errors that make a band: two days of quarters of an hour."""
FEWEST_ERRORS = 20
ASSUMED_SHARES = (-0.5, -0.4, 0.0, 0.6, 0.9)
"""Ends of a band as shares of the point while fewer errors are known: a guess."""
SMALLEST_SHARE = 0.05
"""The root is taken of at least this share of a day's mean: an idle hour is no unit."""


@dataclass(frozen=True, slots=True)
class Points:
    """What the rules say: (n, horizons, LEANT_ON) `points`, (n, horizons) `truth` (NaN: not known), and (n,) `unit`.

    `unit` is the root's floor: a small share of the series' usual level.
    """

    points: Floats
    truth: Floats
    floor: Floats

    def root(self, points: Floats) -> Floats:
        """Return the square root that errors are measured in."""
        shape = (-1, *[1] * (points.ndim - 1))
        return np.sqrt(np.maximum(points, self.floor.reshape(shape)))

    def error_root(self, points: Floats) -> Floats:
        """Return the root for errors seen: what rose from nothing is no endless error."""
        shape = (*self.truth.shape, *[1] * (points.ndim - 2))
        came = np.nan_to_num(self.truth).reshape(shape)
        return np.maximum(self.root(points), np.sqrt(SMALLEST_SHARE * came))

    def errors(self) -> Floats:
        """Return (n, horizons, LEANT_ON) how far what came lay from each point, as shares of the root."""
        missed: Floats = (self.truth[..., None] - self.points) / self.error_root(self.points)
        return missed

    def some(self, rows: slice) -> Points:
        """Return what was said at some of the origins."""
        return Points(self.points[rows], self.truth[rows], self.floor[rows])


@dataclass(frozen=True, slots=True)
class Seasons:
    """(n, horizons) points of the two rules that remember more than the newest steps."""

    holt_winters: Floats
    fourier: Floats

    def stacked(self) -> Floats:
        """Return (n, horizons, 2) both."""
        return np.stack([self.holt_winters, self.fourier], axis=-1)


def rule_points(past: Past, origins: Origins, seasons: Seasons | None = None) -> Points:
    """Return what each rule says at each origin; where `seasons` are not given, the origins are those of one series."""
    newest, target = origins.newest, origins.target
    day, week = past.steps(DAY_SECONDS), past.steps(WEEK_SECONDS)
    quarter, hour = past.steps(QUARTER_SECONDS), past.steps(HOUR_SECONDS)
    half = quarter // 2
    truth = past.at(target)
    if seasons is None:
        seasons = Seasons(holt_winters(past, origins, truth)[0], fourier(past, origins)[0])
    level = past.last_known(newest)
    hour_mean = _or(past.mean(newest, hour), level)
    near = _or(past.mean(newest, quarter), hour_mean)
    nearest = _or(past.mean(newest, past.steps(300)), near)
    horizons = target.shape[1]
    daily = _or(past.at(target - day), _columns(level, horizons))
    weekly = _or(past.at(target - week), daily)
    day_smooth = _or(past.around(target - day, half), daily)
    week_smooth = _or(past.around(target - week, half), day_smooth)
    slope = (near - _or(past.mean(newest - quarter, quarter), near)) / QUARTER_SECONDS
    ahead = 0.5 * np.minimum(np.array(origins.horizons, dtype=np.float64), 1800.0)
    profile, now = _profile(past, origins, half, quarter)
    hours_ahead, hours_now = _profile(past, origins, hour // 2, hour)
    by_rule = {
        "last_value": _columns(level, horizons),
        "hour_mean": _columns(hour_mean, horizons),
        "seasonal_day": daily,
        "seasonal_week": weekly,
        "holt_winters": _or(seasons.holt_winters, _columns(level, horizons)),
        "fourier": _or(seasons.fourier, daily),
        "mean_5m": _columns(nearest, horizons),
        "mean_15m": _columns(near, horizons),
        "trend": np.maximum(near[:, None] + slope[:, None] * ahead, 0.0),
        "day_smooth": day_smooth,
        "day_moved": _moved(near, past.mean(newest - day, quarter), day_smooth),
        "week_moved": _moved(near, past.mean(newest - week, quarter), week_smooth),
        "days_moved": _moved(near, now, profile),
        "last_value_day": 0.5 * (_columns(nearest, horizons) + day_smooth),
        "week_smooth": week_smooth,
        "mean_30m": _columns(_or(past.mean(newest, past.steps(1800)), near), horizons),
        "hours_moved": _moved(hour_mean, hours_now, hours_ahead),
    }
    usual = past.mean(newest, 7 * day)
    floor = np.maximum(SMALLEST_SHARE * np.where(np.isnan(usual), 0.0, usual), 1e-12)
    return Points(np.stack([by_rule[name] for name in LEANT_ON], axis=2), truth, floor)


def _profile(past: Past, origins: Origins, half: int, width: int) -> tuple[Floats, Floats]:
    """Return the mean of the last seven days around each target, and up to each origin."""
    day = past.steps(DAY_SECONDS)
    ahead = [past.around(origins.target - back * day, half) for back in range(1, 8)]
    now = [past.mean(origins.newest - back * day, width) for back in range(1, 8)]
    return _mean_of_known(ahead), _mean_of_known(now)


def _mean_of_known(rows: list[Floats]) -> Floats:
    stacked = np.stack(rows)
    known = ~np.isnan(stacked)
    count = known.sum(axis=0)
    total = np.where(known, stacked, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _moved(level: Floats, then: Floats, ahead: Floats) -> Floats:
    """Return today's level times how an earlier day went on from here; the level where unknown."""
    grown = ahead / np.where(then > 0, then, np.nan)[:, None]
    grown = np.clip(np.where(np.isnan(grown), 1.0, grown), 1.0 / MOST_GROWTH, MOST_GROWTH)
    moved: Floats = level[:, None] * grown
    return moved


def _columns(row: Floats, count: int) -> Floats:
    return np.repeat(row[:, None], count, axis=1)


def _or(first: Floats, second: Floats) -> Floats:
    return np.where(np.isnan(first), second, first)


def rule_bands(points: Points, origins: Origins, since: int = 0) -> Floats:
    """Return (n - since, horizons, RULES, QUANTILES): each rule's quantiles from its own newest errors.

    Args:
        points: what the rules said at every origin.
        origins: where they lie.
        since: origins before this one only lend their errors.
    """
    errors = points.errors()[:, :, : len(RULES)].astype(np.float32)
    windows = [
        _windows(errors[:, horizon], wait, since)
        for horizon, wait in enumerate(origins.wait.tolist())
    ]
    return bands_from_errors(points.some(slice(since, None)), windows)


def bands_from_errors(points: Points, windows: Sequence[NDArray[np.float32]]) -> Floats:
    """Return (n, horizons, RULES, QUANTILES) bands around what the rules say.

    Args:
        points: what they say at n origins.
        windows: by horizon (n, RULES, BAND_ORIGINS) their newest errors in any order, NaN where there is none.
    """
    said = points.points[:, :, : len(RULES), None]
    root = points.root(said)
    shift = np.stack([_window_quantiles(errors) for errors in windows], axis=1)
    shift = np.where(np.isnan(shift), np.array(ASSUMED_SHARES) * root, shift)
    bands: Floats = np.maximum(np.sort(said + root * shift, axis=-1), 0.0)
    return bands


def _windows(errors: NDArray[np.float32], wait: int, since: int) -> NDArray[np.float32]:
    """Return (n - since, rules, BAND_ORIGINS): the window of origin n ends with the error of origin n - wait."""
    count, rules = errors.shape
    nothing = np.full((BAND_ORIGINS + wait - 1, rules), np.nan, dtype=np.float32)
    padded = np.concatenate([nothing, errors])
    return np.lib.stride_tricks.sliding_window_view(padded, BAND_ORIGINS, axis=0)[since:count]


def _window_quantiles(windows: NDArray[np.float32]) -> Floats:
    """Return (n, rules, QUANTILES) of the errors known at each origin; NaN: too few."""
    result = np.full((*windows.shape[:2], len(QUANTILES)), np.nan)
    for begin in range(0, len(windows), 256):
        part = np.sort(windows[begin : begin + 256], axis=-1)  # NaN goes last
        known = (~np.isnan(part)).sum(axis=-1)
        for place, quantile in enumerate(QUANTILES):
            # Ranks of n + 1 values: split conformal.
            rank = (known + 1) * quantile - 1
            low = np.clip(np.floor(rank), 0, np.maximum(known - 1, 0)).astype(np.int64)
            high = np.clip(np.ceil(rank), 0, np.maximum(known - 1, 0)).astype(np.int64)
            share = np.clip(rank - low, 0.0, 1.0)
            lower = np.take_along_axis(part, low[..., None], axis=-1)[..., 0]
            upper = np.take_along_axis(part, high[..., None], axis=-1)[..., 0]
            value = lower + share * (upper - lower)
            result[begin : begin + 256, :, place] = np.where(known >= FEWEST_ERRORS, value, np.nan)
    return result


def rising(past: Past, newest: Ints) -> NDArray[np.bool_]:
    """Return (n,) whether the last quarter of an hour lies a tenth above the one an hour before, or more."""
    quarter = past.steps(QUARTER_SECONDS)
    now, then = past.mean(newest, quarter), past.mean(newest - past.steps(HOUR_SECONDS), quarter)
    edge: NDArray[np.bool_] = np.nan_to_num(now) > RISE * np.where(np.isnan(then), np.inf, then)
    return edge


def unknown_age(past: Past, newest: Ints) -> Floats:
    """Return seconds since the newest known step of each origin; infinite where there is none."""
    age = past.age_steps(newest).astype(np.float64) * past.step_seconds
    return np.where(age > 1e8, np.inf, age)
