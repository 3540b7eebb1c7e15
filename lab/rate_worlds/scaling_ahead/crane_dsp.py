"""Crane's forecast of a periodic metric: its DSP predictor, written after its description.

Source: gocrane/crane, commit 2b0ddae8, `pkg/prediction/dsp/`. Only a period of a day or of seven days counts; a course
without one is not forecast. The past is cleaned of its extreme values and transformed (FFT), weak and fast components
are dropped, and the last period of what is left is repeated, with a margin. Eight such estimators are tried on the last
period, where a shortfall weighs more than an excess, and the best one forecasts.

Differences: steps are of five minutes instead of one, since that is what a history keeps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from random import Random

import numpy as np

from lab.rate_worlds.rate_sets import DAY, Floats

STEP_SECONDS = 300
STEPS_A_DAY = DAY // STEP_SECONDS
PERIODS = (7 * STEPS_A_DAY, STEPS_A_DAY)
LEAST_PERIODS = 2
LOW, HIGH = 0.001, 0.999
"""Quantiles outside of which a value is replaced by the one before."""
SHUFFLES, SHUFFLED_QUANTILE = 100, 0.99
AMPLITUDES, MARGINS = (1.0, 0.05), (0.0, 0.1, 0.15, 0.2)
FASTEST_A_HOUR = 1.0
SHORTFALL_BASE = 1.25
SMALL = 0.001
"""Actual values below this are no divisor: the error is absolute then."""
NEAR = 0.05
"""How far the highest autocorrelation may lie from a period, as a share of it; about an hour for a day."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """One way to repeat the last period."""

    least_amplitude: float
    margin: float

    def repeat(self, values: Floats, period: int) -> Floats:
        """Return the next (period,) values after whole periods."""
        spectrum = np.fft.rfft(values)
        amplitudes = np.abs(spectrum) / len(values)
        frequencies = np.fft.rfftfreq(len(values), STEP_SECONDS / 3_600.0)
        dropped = (amplitudes < self.least_amplitude) | (frequencies > FASTEST_A_HOUR)
        dropped[0] = False
        spectrum[dropped] = 0.0
        smooth = np.fft.irfft(spectrum, len(values))
        return np.maximum(smooth[-period:], 0.0) * (1.0 + self.margin)


ESTIMATORS = tuple(Estimator(least, margin) for least, margin in product(AMPLITUDES, MARGINS))


def forecast_period(values: Floats, rng: Random) -> Floats | None:
    """Return the next period of a course without holes, a day or seven days of steps; None where it has none."""
    clean = cleaned(values)
    period = find_period(clean, rng)
    if period is None:
        return None
    whole = clean[len(clean) % period :]
    before, last = whole[:-period], whole[-period:]
    best = min(ESTIMATORS, key=lambda one: _loss(last, one.repeat(before, period)))
    return best.repeat(whole, period)


def cleaned(values: Floats) -> Floats:
    """Return a course whose extreme values are replaced by the value before."""
    low, high = np.quantile(values, (LOW, HIGH))
    kept = (values >= low) & (values <= high)
    kept[0] = True
    places = np.maximum.accumulate(np.where(kept, np.arange(len(values)), 0))
    return np.asarray(values[places])


def find_period(values: Floats, rng: Random) -> int | None:
    """Return the period of a course in steps, a day's or a week's; None where chance explains it as well."""
    for period in PERIODS:
        whole = values[len(values) % period :]
        if len(whole) < LEAST_PERIODS * period:
            continue
        centred = whole - whole.mean()
        power = np.abs(np.fft.rfft(centred)) ** 2
        highest = [_highest_power(centred, rng) for _ in range(SHUFFLES)]
        if not (power[2:] > np.quantile(highest, SHUFFLED_QUANTILE)).any():
            continue
        if _is_peak(centred, period):
            return period
    return None


def _highest_power(centred: Floats, rng: Random) -> float:
    """Return the highest power of the same values in an order of chance."""
    shuffled = centred.tolist()
    rng.shuffle(shuffled)
    return float((np.abs(np.fft.rfft(shuffled)) ** 2)[2:].max())


def _is_peak(centred: Floats, period: int) -> bool:
    """Say whether the autocorrelation rises to a lag near the period and falls behind it."""
    padded = np.fft.rfft(centred, 2 * len(centred))
    correlation = np.fft.irfft(padded * np.conj(padded))[: len(centred)]
    half = min(4 * 3_600 // STEP_SECONDS, period // 2)
    near = int(NEAR * period)
    window = correlation[period - near : period + near + 1]
    top = period - near + int(np.argmax(window))
    before = correlation[max(0, top - half) : top + 1]
    after = correlation[top : top + half + 1]
    if len(after) < 2 or correlation[top] <= 0.0:
        return False
    rises, falls = (np.polyfit(np.arange(len(part)), part, 1)[0] for part in (before, after))
    return bool(rises > 0.0 > falls)


def _loss(actual: Floats, estimated: Floats) -> float:
    """Return the mean error of an estimate, shortfalls by the logarithm, as Crane weighs them."""
    if (actual < SMALL).any():
        return float(np.abs(actual - estimated).mean())
    short = (actual - estimated) / actual
    costs = np.where(
        short > 0.0,
        -np.log(np.maximum(1.0 - short, 1e-9)) / math.log(SHORTFALL_BASE),
        -short,
    )
    return float(costs.mean())
