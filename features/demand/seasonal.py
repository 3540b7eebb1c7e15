"""Two rules that carry a season: Holt-Winters, and the Fourier rule of the Crane autoscaler.

Holt-Winters is additive with a damped trend (Hyndman and Athanasopoulos, Forecasting: Principles and Practice, 8.3):
a season of a day in strides, three pairs of weights side by side, of which the best so far speaks. The Fourier rule
is Crane's DSP estimator: whole days or weeks of history, outliers replaced, frequencies above one an hour and weak
ones dropped, the last period repeated, made anew twice a day.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from features.demand.past import DAY_SECONDS, HOUR_SECONDS, Ints, Origins, Past, rolling_mean
from features.series.quantiles import Floats

WEIGHTS = ((0.15, 0.15), (0.4, 0.2), (0.8, 0.3))
"""(level, season) of the three."""
_ALPHA = np.array([level for level, _ in WEIGHTS])
_GAMMA = np.array([season for _, season in WEIGHTS])
TREND_WEIGHT = 0.02
DAMPING = 0.9
REFITS_PER_DAY = 2
LONGEST_DAYS = 14
WEAK_SHARE = 0.01
"""Of the strongest frequency: what is weaker is dropped."""


@dataclass(slots=True)
class Smoothed:
    """Where Holt-Winters stands after the newest origin of n series, for each of `WEIGHTS`.

    `level` and `trend` (n, weights), `season` (n, slots of a day, weights), `seen` (n, slots); `known` (n,) whether
    anything is.
    """

    level: Floats
    trend: Floats
    season: Floats
    seen: NDArray[np.bool_]
    known: NDArray[np.bool_]

    @classmethod
    def new(cls, series: int, day: int) -> Smoothed:
        """Return what has seen nothing."""
        ways = len(WEIGHTS)
        slots = np.zeros((series, day), dtype=np.bool_)
        return cls(
            np.zeros((series, ways)),
            np.zeros((series, ways)),
            np.zeros((series, day, ways)),
            slots,
            np.zeros(series, dtype=np.bool_),
        )

    def of(self, rows: Ints) -> Smoothed:
        """Return a copy of some series."""
        return Smoothed(*(getattr(self, field.name)[rows] for field in fields(self)))

    def put(self, rows: Ints, other: Smoothed) -> None:
        """Take some series from another."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(other, field.name)

    def push(self, blocks: Floats, slot: int) -> None:
        """Take the newest stride of each series (n,), NaN where it is not known."""
        new = ~np.isnan(blocks)
        value = np.where(new, blocks, 0.0)[:, None]
        takes = new[:, None]
        begins = takes & ~self.known[:, None]
        level = np.where(begins, value, self.level)
        self.known |= new
        expected = level + DAMPING * self.trend
        season = self.season[:, slot]
        moved = _ALPHA * (value - season) + (1.0 - _ALPHA) * expected
        trend = TREND_WEIGHT * (moved - level) + (1.0 - TREND_WEIGHT) * DAMPING * self.trend
        weight = np.where(self.seen[:, slot, None], _GAMMA, 1.0 - _ALPHA)
        turned = season + weight * (value - moved - season)
        self.level = np.where(takes, moved, self.level)
        self.trend = np.where(takes, trend, self.trend)
        self.season[:, slot] = np.where(takes, turned, season)
        self.seen[:, slot] |= new

    def points(self, slot: int, wait: Ints) -> Floats:
        """Return (n, horizons, weights) after a stride of slot `slot`, NaN before anything is known."""
        ahead = _damped(wait)[:, None]
        season = self.season[:, (slot + wait) % self.season.shape[1]]
        points = self.level[:, None] + self.trend[:, None] * ahead + season
        return np.where(self.known[:, None, None], points, np.nan)


def holt_winters(past: Past, origins: Origins, truth: Floats) -> tuple[Floats, Floats, Smoothed]:
    """Return (n, horizons) points, NaN before anything is known, (n, horizons, weights) of all, and where they end.

    `truth` is what came.
    """
    blocks = past.mean(origins.newest, past.steps(origins.stride_seconds))
    ways = [_smooth(blocks, origins, level, season) for level, season in WEIGHTS]
    points = np.stack([way[0] for way in ways], axis=2)
    lost = rolling_mean(np.abs(points - truth[:, :, None]), 2 * origins.day, origins.wait)
    ends = [way[1] for way in ways]
    end = Smoothed(
        np.array([[one.level for one in ends]]),
        np.array([[one.trend for one in ends]]),
        np.array([[one.season for one in ends]]).transpose(0, 2, 1).copy(),
        np.array([ends[0].seen]),
        np.array([ends[0].known]),
    )
    return best_way(points, lost), points, end


def best_way(points: Floats, lost: Floats) -> Floats:
    """Return (n, horizons) points of the weights that lost least lately; both are (n, horizons, weights)."""
    best = np.argmin(np.where(np.isnan(lost), 1.0, lost), axis=2)
    chosen: Floats = np.take_along_axis(points, best[:, :, None], axis=2)[:, :, 0]
    return np.maximum(chosen, 0.0)


@dataclass(slots=True)
class _Way:
    """`Smoothed` for one series and one pair of weights, in plain numbers."""

    level: float
    trend: float
    season: list[float]
    seen: list[bool]
    known: bool


def _smooth(blocks: Floats, origins: Origins, alpha: float, gamma: float) -> tuple[Floats, _Way]:
    """Go through one series; one plain number after another is faster than arrays of three."""
    day = origins.day
    season = [0.0] * day
    seen = [False] * day
    level, trend, known = 0.0, 0.0, False
    states, seasons = [], []
    waits = origins.wait.tolist()
    first = first_slot(origins)
    for place, value in enumerate(blocks.tolist(), first):
        slot = place % day
        if value == value:  # known: NaN differs from itself
            if not known:
                level, known = value, True
            before = level
            expected = level + DAMPING * trend
            level = alpha * (value - season[slot]) + (1.0 - alpha) * expected
            trend = TREND_WEIGHT * (level - before) + (1.0 - TREND_WEIGHT) * DAMPING * trend
            weight = gamma if seen[slot] else 1.0 - alpha
            season[slot] += weight * (value - level - season[slot])
            seen[slot] = True
        states.append((level, trend) if known else (np.nan, np.nan))
        seasons.append([season[(place + wait) % day] for wait in waits])
    state = np.array(states).reshape(-1, 2)
    season_ahead = np.array(seasons).reshape(-1, len(waits))
    points: Floats = state[:, :1] + state[:, 1:] * _damped(origins.wait) + season_ahead
    return points, _Way(level, trend, season, seen, known)


def first_slot(origins: Origins) -> int:
    """Return the slot of the day of the first origin."""
    return int(origins.origin_s[0]) // origins.stride_seconds % origins.day if len(origins) else 0


def _damped(wait: Ints) -> Floats:
    return np.array([sum(DAMPING**step for step in range(1, one + 1)) for one in wait.tolist()])


class Period(NamedTuple):
    """What the Fourier rule says of the steps from place `end` on, over and over; nothing where too little is known."""

    values: Floats
    end: int


NO_PERIOD = Period(np.zeros(0), 0)


def fourier(past: Past, origins: Origins) -> tuple[Floats, Period]:
    """Return (n, horizons) points of one series, NaN until two whole days are known, and the newest period."""
    result = np.full(origins.target.shape, np.nan)
    every = refit_origins(origins)
    period = NO_PERIOD
    for begin in range(0, len(origins), every):
        rows = slice(begin, begin + every)
        period = fitted_period(past.values, int(origins.newest[begin]) + 1, past.step_seconds)
        if len(period.values):
            places = (origins.target[rows] - period.end) % len(period.values)
            result[rows] = period.values[places]
    return result, period


def refit_origins(origins: Origins) -> int:
    """Return after how many origins the Fourier rule is made anew."""
    return max(1, origins.day // REFITS_PER_DAY)


def fitted_period(values: Floats, end: int, step_seconds: int) -> Period:
    """Return what the Fourier rule makes of the steps before place `end`."""
    day = DAY_SECONDS // step_seconds
    days = min(end // day, LONGEST_DAYS)
    history = values[end - days * day : end]
    if days < 2 or np.isnan(history).mean() > 0.5:
        return Period(NO_PERIOD.values, end)
    return Period(_last_period(_filled(history), day, step_seconds), end)


def _filled(history: Floats) -> Floats:
    """Return the history with gaps and outliers replaced by what came before."""
    known = ~np.isnan(history)
    low, high = np.quantile(history[known], [0.001, 0.999])
    good = known & (history >= low) & (history <= high)
    place = np.maximum.accumulate(np.where(good, np.arange(len(history)), -1))
    return history[np.where(place >= 0, place, int(np.argmax(good)))]


def _last_period(history: Floats, day: int, step_seconds: int) -> Floats:
    week = 7 * day
    weekly = len(history) >= 2 * week and _correlation(history, week) > _correlation(history, day)
    period = week if weekly else day
    whole = history[len(history) % period :]
    strength = np.fft.rfft(whole)
    frequency = np.fft.rfftfreq(len(whole), d=step_seconds)
    size = np.abs(strength)
    weak = size < WEAK_SHARE * (size[1:].max() if len(size) > 1 else 0.0)
    weak[0] = False
    strength[weak | (frequency > 1.0 / HOUR_SECONDS)] = 0.0
    return np.maximum(np.fft.irfft(strength, n=len(whole))[-period:], 0.0)


def _correlation(history: Floats, lag: int) -> float:
    first, second = history[:-lag], history[lag:]
    spread = float(first.std() * second.std())
    return (
        float(((first - first.mean()) * (second - second.mean())).mean()) / spread
        if spread
        else 0.0
    )
