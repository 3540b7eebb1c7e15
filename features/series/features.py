"""The state of n series as a feature matrix.

Guarantee: a row depends on its own series' past alone, so one series gives the same bits in
training and live, in any batch. Every size is divided by the series' own `scale`, and the most
telling ones also stand in `spread`s around its mean of two hours, so that a model learns shapes and
not levels, and one model serves nodes, instances and whole cells. What a model predicts is a number
of spreads, too: `units_of` turns it into usage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats, row_quantiles
from features.series.rules import (
    DAY_WINDOWS,
    HISTORY_WINDOWS,
    RC_LEVEL,
    SIGMAS,
    row_max,
    row_mean_deviation,
    row_min,
)

FEATURE_SET = "demand-series"
FEATURE_SET_VERSION = 1
HOUR_WINDOWS = 12
RECENT_WINDOWS = DAY_WINDOWS + HISTORY_WINDOWS
"""How many windows a feature row needs: a day, and two hours before the same time yesterday."""
DAY_HOURS = 24
WEEK_HOURS = 7 * DAY_HOURS
LAGS = 12
SCALE_FLOOR = 0.1
"""The scale is at least this share of the day's largest window: an idle hour is no unit."""
TINY = 1e-9
ROWS_TOGETHER = 1000
"""So many rows fit the processor's cache: twice as fast as all at once."""
LEAST_SPREAD = 0.002
"""Of the scale: a series that stood still for two hours may still move by so much."""
TARGET = "spreads_above_mean_2h"
"""What a booster's number is: see `Units`."""
YESTERDAY_HORIZONS = {"15m": 3, "1h": 12, "3h": 36}


@dataclass(frozen=True, slots=True)
class SeriesPast:
    """Known facts about n series before one origin each.

    `recent` is (n, RECENT_WINDOWS) five-minute windows, the newest last, NaN where missing;
    `hours` is (n, WEEK_HOURS) peaks of complete clock hours, the newest last;
    `step_of_day` is (n,) the origin's window within its day, NaN where unknown;
    `capacity` is (n,) what usage cannot exceed, NaN where unknown (1 where usage is a ratio of it).
    """

    recent: Floats
    hours: Floats
    step_of_day: Floats
    capacity: Floats


@dataclass(frozen=True, slots=True)
class SeriesFeature:
    """One column: its name and the unit it is measured in."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class Units:
    """Unit of a model's number for each of n series: usage = centre + number * spread.

    `centre` is the mean of the last two hours, NaN where nothing of them is known; `spread` is how much
    the series usually moves; `scale` its usual size. All (n,), in the unit of the series.
    """

    centre: Floats
    spread: Floats
    scale: Floats

    def usage(self, numbers: Floats) -> Floats:
        """Return predicted usage, (n,) or (n, quantiles) like `numbers`; never below 0."""
        shape = (-1, *[1] * (numbers.ndim - 1))
        return np.maximum(self.centre.reshape(shape) + numbers * self.spread.reshape(shape), 0.0)

    def take(self, rows: NDArray[np.int64]) -> Units:
        """Return the units of some of the series."""
        return Units(self.centre[rows], self.spread[rows], self.scale[rows])

    def numbers(self, usage: Floats) -> Floats:
        """Return usage (n,) as numbers of spreads above the mean."""
        number: Floats = (usage - self.centre) / self.spread
        return number


def scale_of(past: SeriesPast) -> Floats:
    """Return the usual size of each series: its mean of two hours, at least a tenth of the day's
    peak.
    """
    mean, _ = row_mean_deviation(past.recent[:, -HISTORY_WINDOWS:])
    floor = SCALE_FLOOR * row_max(past.recent[:, -DAY_WINDOWS:])
    return np.fmax(np.fmax(mean, floor), TINY)


def units_of(past: SeriesPast) -> Units:
    """Return the units of each series."""
    return describe_past(past)[1]


def feature_matrix(past: SeriesPast) -> NDArray[np.float32]:
    """Return (n, len(FEATURES)) float32; NaN where a feature is not known."""
    return describe_past(past)[0]


def describe_past(past: SeriesPast) -> tuple[NDArray[np.float32], Units]:
    """Return the feature matrix and the units of each series, computed together."""
    count = len(past.recent)
    matrix = np.empty((count, len(FEATURES)), dtype=np.float32)
    units = np.empty((3, count))
    for begin in range(0, count, ROWS_TOGETHER):
        rows = slice(begin, begin + ROWS_TOGETHER)
        part = SeriesPast(
            past.recent[rows], past.hours[rows], past.step_of_day[rows], past.capacity[rows]
        )
        matrix[rows], units_of_part = _describe(part)
        units[:, rows] = units_of_part.centre, units_of_part.spread, units_of_part.scale
    return matrix, Units(*units)


def _describe(past: SeriesPast) -> tuple[NDArray[np.float32], Units]:
    scale = scale_of(past)
    scaled = _scale(past, scale)
    sizes = np.concatenate([compute(scaled) for _, _, compute in _BLOCKS], axis=1)
    mean, spread = sizes[:, _MEAN], _spread(sizes)
    numbers = _in_spreads(sizes, mean, spread)
    matrix = np.concatenate([sizes, numbers], axis=1).astype(np.float32)
    return matrix, Units(mean * scale, spread * scale, scale)


def _scale(past: SeriesPast, scale: Floats) -> SeriesPast:
    column = scale[:, None]
    return SeriesPast(
        past.recent / column, past.hours / column, past.step_of_day, past.capacity / scale
    )


def _spread(sizes: Floats) -> Floats:
    two_hours, day, step = (sizes[:, column] for column in _MOVES)
    return np.fmax(np.fmax(two_hours, 0.5 * step), np.fmax(0.1 * day, LEAST_SPREAD))


def _in_spreads(sizes: Floats, mean: Floats, spread: Floats) -> Floats:
    places = sizes[:, _PLACES] - mean[:, None]
    lengths = sizes[:, _LENGTHS]
    numbers = np.concatenate([places, lengths], axis=1) / spread[:, None]
    return np.concatenate([numbers, spread[:, None]], axis=1)


def _lags(past: SeriesPast) -> Floats:
    return past.recent[:, : -LAGS - 1 : -1]


def _two_hours(past: SeriesPast) -> Floats:
    recent = past.recent[:, -HISTORY_WINDOWS:]
    mean, deviation = row_mean_deviation(recent)
    spread = row_quantiles(recent, [0.5, RC_LEVEL])
    return _columns(
        mean, deviation, row_max(recent), row_min(recent), *spread.T, mean + SIGMAS * deviation
    )


def _day(past: SeriesPast) -> Floats:
    recent = past.recent[:, -DAY_WINDOWS:]
    mean, deviation = row_mean_deviation(recent)
    known = np.count_nonzero(~np.isnan(recent), axis=1) / DAY_WINDOWS
    spread = row_quantiles(recent, [0.5, 0.9, 0.95, 0.99])
    return _columns(mean, deviation, row_max(recent), row_min(recent), *spread.T, known)


def _hourly_peaks(past: SeriesPast) -> Floats:
    day = row_quantiles(past.hours[:, -DAY_HOURS:], [0.5, 0.9])
    week = row_quantiles(past.hours, [0.5, 0.9, 0.95, 1.0])
    known = np.count_nonzero(~np.isnan(past.hours), axis=1) / WEEK_HOURS
    return _columns(*day.T, *week.T, known)


def _same_hour(past: SeriesPast) -> Floats:
    # Two hours around the same time on each of the last days, as far back as a week.
    days = [past.hours[:, -DAY_HOURS * day :][:, :2] for day in range(1, 8)]
    peaks = np.stack([row_max(day) for day in days], axis=1)
    mean, _ = row_mean_deviation(peaks)
    return _columns(peaks[:, 0], mean, row_max(peaks), peaks[:, -1])


def _yesterday(past: SeriesPast) -> Floats:
    begin = RECENT_WINDOWS - DAY_WINDOWS
    peaks = [
        row_max(past.recent[:, begin : begin + windows]) for windows in YESTERDAY_HORIZONS.values()
    ]
    before, _ = row_mean_deviation(past.recent[:, begin - HISTORY_WINDOWS : begin])
    growth = peaks[1] / np.where(before > TINY, before, np.nan)
    return _columns(*peaks, growth)


def _slopes(past: SeriesPast) -> Floats:
    return _columns(*(_slope(past.recent[:, -windows:]) for windows in (6, 12, HISTORY_WINDOWS)))


def _jumps(past: SeriesPast) -> Floats:
    steps = np.diff(past.recent[:, -DAY_WINDOWS:], axis=1)
    late = steps[:, -HISTORY_WINDOWS:]
    mean, _ = row_mean_deviation(np.abs(late))
    return _columns(row_max(late), -row_min(late), mean, row_max(steps), -row_min(steps))


def _time_of_day(past: SeriesPast) -> Floats:
    # The table is made by `math`, so that the value does not depend on the machine's vector code.
    known = ~np.isnan(past.step_of_day)
    step = np.where(known, past.step_of_day, 0.0).astype(np.int64) % DAY_WINDOWS
    return np.where(known[:, None], _CLOCK[step], np.nan)


def _capacity(past: SeriesPast) -> Floats:
    return _columns(past.capacity)


def _slope(rows: Floats) -> Floats:
    """Least-squares slope per window over the known values, 0 where there are fewer than two."""
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=1), 1)
    place = np.where(known, np.arange(rows.shape[1], dtype=np.float64), 0.0)
    value = np.where(known, rows, 0.0)
    place = np.where(known, place - (place.sum(axis=1) / count)[:, None], 0.0)
    value = np.where(known, value - (value.sum(axis=1) / count)[:, None], 0.0)
    square = (place * place).sum(axis=1)
    slope: Floats = (place * value).sum(axis=1) / np.where(square > 0, square, 1.0)
    return slope


def _columns(*columns: Floats) -> Floats:
    return np.stack(columns, axis=1)


_ANGLES = [2.0 * math.pi * step / DAY_WINDOWS for step in range(DAY_WINDOWS)]
_CLOCK = np.array([(math.sin(angle), math.cos(angle)) for angle in _ANGLES])
_Block = tuple[tuple[str, ...], str, Callable[[SeriesPast], Floats]]
_BLOCKS: tuple[_Block, ...] = (
    (tuple(f"lag_{lag}" for lag in range(1, LAGS + 1)), "scale", _lags),
    (
        ("mean_2h", "sd_2h", "max_2h", "min_2h", "p50_2h", "p95_2h", "n_sigma"),
        "scale",
        _two_hours,
    ),
    (
        (
            *("mean_24h", "sd_24h", "max_24h", "min_24h"),
            *("p50_24h", "p90_24h", "p95_24h", "p99_24h", "known_24h"),
        ),
        "scale",
        _day,
    ),
    (
        (
            *("hour_peak_p50_24h", "hour_peak_p90_24h", "hour_peak_p50_7d", "hour_peak_p90_7d"),
            *("hour_peak_p95_7d", "hour_peak_max_7d", "hours_known_7d"),
        ),
        "scale",
        _hourly_peaks,
    ),
    (
        ("same_hour_1d", "same_hour_mean_7d", "same_hour_max_7d", "same_hour_7d"),
        "scale",
        _same_hour,
    ),
    (
        (*(f"yesterday_peak_{name}" for name in YESTERDAY_HORIZONS), "yesterday_growth"),
        "scale",
        _yesterday,
    ),
    (("slope_30m", "slope_1h", "slope_2h"), "scale/window", _slopes),
    (("jump_up_2h", "jump_down_2h", "step_2h", "jump_up_24h", "jump_down_24h"), "scale", _jumps),
    (("day_sin", "day_cos"), "ratio", _time_of_day),
    (("capacity",), "scale", _capacity),
)
_RATIOS = frozenset({"known_24h", "hours_known_7d", "yesterday_growth"})
_OF_SIZES = [name for names, _, _ in _BLOCKS for name in names]
_PLACE_NAMES = (
    *("lag_1", "lag_2", "lag_3", "max_2h", "min_2h", "p95_2h", "mean_24h", "max_24h", "p50_24h"),
    *("p90_24h", "hour_peak_p50_24h", "hour_peak_p90_24h", "hour_peak_max_7d", "same_hour_1d"),
    *("same_hour_mean_7d", "yesterday_peak_1h", "capacity"),
)
_LENGTH_NAMES = (
    *("sd_2h", "sd_24h", "step_2h", "jump_up_2h", "jump_up_24h"),
    *("slope_30m", "slope_1h", "slope_2h"),
)
_MEAN = _OF_SIZES.index("mean_2h")
_MOVES = [_OF_SIZES.index(name) for name in ("sd_2h", "sd_24h", "step_2h")]
_PLACES = [_OF_SIZES.index(name) for name in _PLACE_NAMES]
_LENGTHS = [_OF_SIZES.index(name) for name in _LENGTH_NAMES]
FEATURES: tuple[SeriesFeature, ...] = (
    *(
        SeriesFeature(name, "ratio" if name in _RATIOS else unit)
        for names, unit, _ in _BLOCKS
        for name in names
    ),
    *(SeriesFeature(f"{name}_spreads", "spread") for name in _PLACE_NAMES),
    *(SeriesFeature(f"{name}_spreads", "spread") for name in _LENGTH_NAMES),
    SeriesFeature("spread", "scale"),
)
"""Name and unit of each column; `scale` and `spread` are the units that `units_of` returns."""
