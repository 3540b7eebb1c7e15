"""Features of a series for a trained model at an origin, and the units that its numbers are in.

Every column is free of the series' level: sizes stand in `scale`s around `base`, or as logarithms of ratios. The base
is a mean of the points of `rules`, each weighted by how small its newest errors were; the scale is how far that base
lately lay from what came. So one model serves any series and any horizon, and says only how to do better than a
good mixture of rules does, and how wide its bands are. No column names a series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from features.demand.past import (
    DAY_SECONDS,
    HOUR_SECONDS,
    WEEK_SECONDS,
    Origins,
    Past,
    rolling_mean,
)
from features.demand.rules import LEANT_ON, QUARTER_SECONDS, Points, Seasons, rule_points
from features.demand.seasonal import Period, Smoothed, fourier, holt_winters
from features.series.quantiles import Floats

FEATURE_SET = "demand-rates"
FEATURE_SET_VERSION = 1
SHARPNESS = 5.0
"""Power of the errors' ratio by which points are weighed in the base."""
SHORT_ORIGINS = 8
SMALLEST_SCALE = 0.005
"""Of the base: nothing is surer than that."""
EDGE = 30.0
"""Sizes are cut at so many scales."""
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Described:
    """Inputs of a model for n origins and their horizons.

    `features` (n, horizons, COLUMNS) float32, NaN where unknown; `base` and `scale` (n, horizons) in the unit of the
    series; `rules` what the rules said at these origins and at those before.
    """

    features: NDArray[np.float32]
    base: Floats
    scale: Floats
    rules: Points

    def numbers(self) -> Floats:
        """Return (n, horizons) what came, in the model's numbers."""
        truth = self.rules.truth[len(self.rules.truth) - len(self.base) :]
        number: Floats = (truth - self.base) / self.scale
        return number


@dataclass(frozen=True, slots=True)
class PointLosses:
    """(n, horizons, LEANT_ON) mean size of each point's newest errors; NaN where none is known."""

    short: Floats
    day: Floats
    week: Floats

    def base(self, points: Floats) -> Floats:
        """Return (n, horizons) the mean of the points, weighted by how small their errors were."""
        return _base(points, 0.5 * (self.day + self.week))

    def some(self, rows: slice) -> PointLosses:
        """Return those of some of the origins."""
        return PointLosses(self.short[rows], self.day[rows], self.week[rows])


@dataclass(frozen=True, slots=True)
class BaseErrors:
    """(n, horizons) how far the base lately lay from what came, as shares of its root; NaN where not known.

    `size_` are means of sizes over the newest `SHORT_ORIGINS`, a day and a week; `squares` of squares over a day.
    """

    newest: Floats
    mean: Floats
    size_short: Floats
    size_day: Floats
    size_week: Floats
    squares: Floats
    yesterday: Floats
    last_week: Floats


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk through n origins of one series came to, all by origin and horizon.

    `rules` what the points were, and `lost` how far they lately lay off; `missed` (n, horizons) errors of the `base`;
    `seasons` what the seasonal rules said, `ways` and `smoothed` those of Holt-Winters, `period` the Fourier rule's.
    """

    rules: Points
    lost: PointLosses
    base: Floats
    missed: Floats
    seasons: Seasons
    ways: Floats
    smoothed: Smoothed
    period: Period


def walked(past: Past, origins: Origins) -> Walked:
    """Return what all origins of one series came to."""
    best, ways, smoothed = holt_winters(past, origins, past.at(origins.target))
    repeated, period = fourier(past, origins)
    seasons = Seasons(best, repeated)
    rules = rule_points(past, origins, seasons)
    losses = np.abs(rules.errors())
    widths = (SHORT_ORIGINS, origins.day, 7 * origins.day)
    lost = PointLosses(*(rolling_mean(losses, width, origins.wait) for width in widths))
    base = lost.base(rules.points)
    missed = (rules.truth - base) / rules.error_root(base)
    return Walked(rules, lost, base, missed, seasons, ways, smoothed, period)


def describe(past: Past, origins: Origins, since: int = 0) -> Described:
    """Return features, base and scale of one series at each origin from place `since` on."""
    walk, rows = walked(past, origins), slice(since, None)
    described = described_by(
        past,
        origins.some(rows),
        walk.rules.some(rows),
        walk.lost.some(rows),
        _base_errors(walk.missed, origins, rows),
    )
    return replace(described, rules=walk.rules)


def described_by(
    past: Past, origins: Origins, rules: Points, lost: PointLosses, errors: BaseErrors
) -> Described:
    """Return features, base and scale, row by row, from what the points and the base lately were worth."""
    base = lost.base(rules.points)
    root = rules.root(base)
    usual = np.where(np.isnan(errors.size_day), 0.2 * root, errors.size_day)
    long = np.where(np.isnan(errors.size_week), usual, errors.size_week)
    brief = np.where(np.isnan(errors.size_short), usual, errors.size_short)
    scale = root * (0.25 * brief + 0.5 * usual + 0.25 * long)
    scale = np.maximum(np.maximum(scale, SMALLEST_SCALE * base), TINY)
    columns = {
        **_rule_columns(rules, base, scale, lost),
        **_error_columns(errors, root, scale),
        **_level_columns(past, origins, base, scale),
        **_season_columns(past, origins, base, scale),
        **_time_columns(past, origins),
    }
    stacked = np.stack([columns[name] for name in COLUMNS], axis=2).astype(np.float32)
    return Described(stacked, base, scale, rules)


def _base(points: Floats, lost: Floats) -> Floats:
    lost = np.where(np.isnan(lost), np.inf, lost)
    least = lost.min(axis=2, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(
            np.isfinite(lost), (np.maximum(least, TINY) / np.maximum(lost, TINY)) ** SHARPNESS, 0.0
        )
    nothing = ~np.isfinite(least)
    weight = np.where(nothing, 1.0, weight)
    base: Floats = (weight * points).sum(axis=2) / weight.sum(axis=2)
    return base


def _base_errors(missed: Floats, origins: Origins, rows: slice) -> BaseErrors:
    wait, day = origins.wait, origins.day
    size = np.abs(missed)
    return BaseErrors(
        rolling_mean(missed, 1, wait)[rows],
        rolling_mean(missed, SHORT_ORIGINS, wait)[rows],
        rolling_mean(size, SHORT_ORIGINS, wait)[rows],
        rolling_mean(size, day, wait)[rows],
        rolling_mean(size, 7 * day, wait)[rows],
        rolling_mean(missed * missed, day, wait)[rows],
        _shifted(missed, day)[rows],
        _shifted(missed, 7 * day)[rows],
    )


def _rule_columns(
    rules: Points, base: Floats, scale: Floats, lost: PointLosses
) -> dict[str, Floats]:
    columns = {
        f"{name}_scales": _scales(rules.points[..., place], base, scale)
        for place, name in enumerate(LEANT_ON)
    }
    unit = rules.root(base) / scale
    for name in ERRORS_OF:
        place = LEANT_ON.index(name)
        columns[f"{name}_error_1d"] = np.clip(lost.day[..., place] * unit, 0.0, EDGE)
        columns[f"{name}_error_2h"] = np.clip(lost.short[..., place] * unit, 0.0, EDGE)
    spread = rules.points.std(axis=2) / scale
    return {**columns, "points_spread": np.clip(spread, 0.0, EDGE)}


def _error_columns(errors: BaseErrors, root: Floats, scale: Floats) -> dict[str, Floats]:
    unit = root / scale
    tails = np.sqrt(errors.squares) / np.maximum(errors.size_day, TINY)
    return {
        "error_newest": np.clip(errors.newest * unit, -EDGE, EDGE),
        "error_mean_2h": np.clip(errors.mean * unit, -EDGE, EDGE),
        "error_size_2h": np.clip(errors.size_short * unit, 0.0, EDGE),
        "error_size_1d": np.clip(errors.size_day * unit, 0.0, EDGE),
        "error_size_7d": np.clip(errors.size_week * unit, 0.0, EDGE),
        "error_yesterday": np.clip(errors.yesterday * unit, -EDGE, EDGE),
        "error_last_week": np.clip(errors.last_week * unit, -EDGE, EDGE),
        "error_tails": np.clip(tails, 0.0, EDGE),
    }


def _shifted(rows: Floats, by: int) -> Floats:
    """Return what was `by` origins earlier."""
    if by >= len(rows):
        return np.full(rows.shape, np.nan)
    return np.concatenate([np.full((by, *rows.shape[1:]), np.nan), rows[:-by]])


def _level_columns(past: Past, origins: Origins, base: Floats, scale: Floats) -> dict[str, Floats]:
    newest = origins.newest
    hour, quarter, five = past.steps(HOUR_SECONDS), past.steps(QUARTER_SECONDS), past.steps(300)
    day = past.steps(DAY_SECONDS)
    window = past.window(newest, max(hour, 4))
    moves = np.abs(np.diff(window, axis=1))
    wide = base.shape[1]
    sizes = {
        "value_1": past.at(newest),
        "value_2": past.at(newest - 1),
        "value_3": past.at(newest - 2),
        "quarter_before": past.mean(newest - quarter, quarter),
        "hour_before": past.mean(newest - hour, hour),
        "hour_max": _by_row(np.fmax, window),
        "hour_min": _by_row(np.fmin, window),
        "three_hours": past.mean(newest, 3 * hour),
        "five_before": past.mean(newest - five, five),
    }
    columns = {
        f"{name}_scales": _scales(_wide(row, wide), base, scale) for name, row in sizes.items()
    }
    level = np.maximum(past.mean(newest, hour), TINY)
    ratios = {
        "hour_of_day_mean": level / np.maximum(past.mean(newest, day), TINY),
        "day_of_week_mean": past.mean(newest, day) / np.maximum(past.mean(newest, 7 * day), TINY),
        "day_of_day_before": past.mean(newest, day)
        / np.maximum(past.mean(newest - day, day), TINY),
        "quarter_of_hour": past.mean(newest, quarter) / level,
        "hour_of_hour_before": level / np.maximum(past.mean(newest - hour, hour), TINY),
    }
    columns |= {f"{name}_log": _wide(_log(row), wide) for name, row in ratios.items()}
    known = (~np.isnan(moves)).sum(axis=1)
    moved = np.where(known > 0, np.nansum(moves, axis=1) / np.maximum(known, 1), np.nan)
    columns["moves_scales"] = np.clip(_wide(moved, wide) / scale, 0.0, EDGE)
    columns["scale_of_base_log"] = _log(scale / np.maximum(base, TINY))
    columns["base_of_hour_log"] = _log(base / level[:, None])
    columns["base_of_day_log"] = _log(base / np.maximum(past.mean(newest, day), TINY)[:, None])
    return columns


def _season_columns(past: Past, origins: Origins, base: Floats, scale: Floats) -> dict[str, Floats]:
    quarter, hour = past.steps(QUARTER_SECONDS), past.steps(HOUR_SECONDS)
    columns: dict[str, Floats] = {}
    for name, back in (("1d", DAY_SECONDS), ("2d", 2 * DAY_SECONDS), ("7d", WEEK_SECONDS)):
        steps = past.steps(back)
        then, now = origins.target - steps, origins.newest - steps
        level = past.mean(now, quarter)
        ahead = past.around(then, quarter // 2)
        later = past.mean(now + hour, hour)
        before = past.mean(now, hour)
        columns |= {
            f"grew_{name}_log": _log(ahead / np.maximum(level, TINY)[:, None]),
            f"grew_hour_{name}_log": _wide(_log(later / np.maximum(before, TINY)), base.shape[1]),
            f"level_{name}_log": _wide(
                _log(past.mean(origins.newest, hour) / np.maximum(before, TINY)), base.shape[1]
            ),
            f"target_{name}_scales": _scales(past.at(then), base, scale),
            f"target_next_{name}_scales": _scales(past.at(then + quarter), base, scale),
            f"target_before_{name}_scales": _scales(past.at(then - quarter), base, scale),
        }
    return columns


def _time_columns(past: Past, origins: Origins) -> dict[str, Floats]:
    wide = origins.target.shape[1]
    second = (origins.origin_s % DAY_SECONDS).astype(np.float64)
    angle = 2.0 * math.pi * second / DAY_SECONDS
    ahead = np.array(origins.horizons, dtype=np.float64)[None, :]
    into_hour = (origins.origin_s[:, None] + ahead) % HOUR_SECONDS
    steps = (origins.target - origins.newest[:, None]).astype(np.float64)
    days = (
        past.known(origins.newest, 14 * past.steps(DAY_SECONDS)) * past.step_seconds / DAY_SECONDS
    )
    return {
        "day_sine": _wide(np.sin(angle), wide),
        "day_cosine": _wide(np.cos(angle), wide),
        "minute_of_hour": into_hour / 60.0,
        "horizon_minutes": np.repeat(ahead / 60.0, len(origins), axis=0),
        "horizon_steps": steps,
        "step_minutes": np.full(steps.shape, past.step_seconds / 60.0),
        "days_known": _wide(days.astype(np.float64), wide),
    }


def _scales(size: Floats, base: Floats, scale: Floats) -> Floats:
    return np.clip((size - base) / scale, -EDGE, EDGE)


def _log(ratio: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip(np.log(ratio), -4.0, 4.0)


def _wide(row: Floats, columns: int) -> Floats:
    return np.repeat(row[:, None], columns, axis=1)


def _by_row(function: np.ufunc, rows: Floats) -> Floats:
    result: Floats = function.reduce(rows, axis=1)
    return result


ERRORS_OF = (
    "last_value",
    "hour_mean",
    "seasonal_day",
    "seasonal_week",
    "holt_winters",
    "days_moved",
    "hours_moved",
)
_SEASONS = ("1d", "2d", "7d")
COLUMNS = (
    *(f"{name}_scales" for name in LEANT_ON),
    *(f"{name}_error_{span}" for name in ERRORS_OF for span in ("1d", "2h")),
    "points_spread",
    *("error_newest", "error_mean_2h", "error_size_2h", "error_size_1d", "error_size_7d"),
    *("error_yesterday", "error_last_week", "error_tails"),
    *(
        "value_1_scales",
        "value_2_scales",
        "value_3_scales",
        "quarter_before_scales",
        "hour_before_scales",
    ),
    *("hour_max_scales", "hour_min_scales", "three_hours_scales", "five_before_scales"),
    *(
        "hour_of_day_mean_log",
        "day_of_week_mean_log",
        "day_of_day_before_log",
        "quarter_of_hour_log",
    ),
    *(
        "hour_of_hour_before_log",
        "moves_scales",
        "scale_of_base_log",
        "base_of_hour_log",
        "base_of_day_log",
    ),
    *(f"{name}_{span}_log" for span in _SEASONS for name in ("grew", "grew_hour", "level")),
    *(
        f"{name}_{span}_scales"
        for span in _SEASONS
        for name in ("target", "target_next", "target_before")
    ),
    *(
        "day_sine",
        "day_cosine",
        "minute_of_hour",
        "horizon_minutes",
        "horizon_steps",
        "step_minutes",
    ),
    "days_known",
)
UNITS = {
    name: "scale"
    if name.endswith(("_scales", "_1d", "_2h", "_7d")) or name.startswith("error_")
    else "log"
    if name.endswith("_log")
    else "minute"
    if "minute" in name
    else "ratio"
    for name in COLUMNS
}
"""By column: `scale`, `log` (of a ratio), `minute`, or a plain number."""
