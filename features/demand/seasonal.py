"""Two rules that carry a season: Holt-Winters, and the Fourier rule of the Crane autoscaler.

Holt-Winters is additive with a damped trend (Hyndman and Athanasopoulos, Forecasting: Principles and Practice, 8.3):
a season of a day in strides, three pairs of weights side by side, of which the best so far speaks. The Fourier rule
is Crane's DSP estimator: whole days or weeks of history, outliers replaced, frequencies above one an hour and weak
ones dropped, the last period repeated, made anew twice a day.
"""

from __future__ import annotations

import numpy as np

from features.demand.past import DAY_SECONDS, HOUR_SECONDS, Origins, Past, rolling_mean
from features.series.quantiles import Floats

WEIGHTS = ((0.15, 0.15), (0.4, 0.2), (0.8, 0.3))
"""(level, season) of the three."""
TREND_WEIGHT = 0.02
DAMPING = 0.9
REFITS_PER_DAY = 2
LONGEST_DAYS = 14
WEAK_SHARE = 0.01
"""Of the strongest frequency: what is weaker is dropped."""


def holt_winters(past: Past, origins: Origins, truth: Floats) -> Floats:
    """Return (n, horizons) points, NaN before anything is known; `truth` is what came."""
    blocks = past.mean(origins.newest, past.steps(origins.stride_seconds))
    points = np.stack(
        [_smooth(blocks, origins, level, season) for level, season in WEIGHTS], axis=2
    )
    lost = rolling_mean(np.abs(points - truth[:, :, None]), 2 * origins.day, origins.wait)
    best = np.argmin(np.where(np.isnan(lost), 1.0, lost), axis=2)
    chosen: Floats = np.take_along_axis(points, best[:, :, None], axis=2)[:, :, 0]
    return np.maximum(chosen, 0.0)


def _smooth(blocks: Floats, origins: Origins, alpha: float, gamma: float) -> Floats:
    day = origins.day
    season = [0.0] * day
    seen = [False] * day
    level, trend, known = 0.0, 0.0, False
    states, seasons = [], []
    waits = origins.wait.tolist()
    for place, value in enumerate(blocks.tolist()):
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
    ahead = np.array([sum(DAMPING**step for step in range(1, wait + 1)) for wait in waits])
    season_ahead = np.array(seasons).reshape(-1, len(waits))
    points: Floats = state[:, :1] + state[:, 1:] * ahead + season_ahead
    return points


def fourier(past: Past, origins: Origins) -> Floats:
    """Return (n, horizons) points; NaN until two whole days are known."""
    result = np.full(origins.target.shape, np.nan)
    day = DAY_SECONDS // past.step_seconds
    every = max(1, origins.day // REFITS_PER_DAY)
    for begin in range(0, len(origins), every):
        rows = slice(begin, begin + every)
        end = int(origins.newest[begin]) + 1
        days = min(end // day, LONGEST_DAYS)
        if days < 2:
            continue
        history = past.values[end - days * day : end]
        if np.isnan(history).mean() > 0.5:
            continue
        period = _last_period(_filled(history), day, past.step_seconds)
        result[rows] = period[(origins.target[rows] - end) % len(period)]
    return result


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
