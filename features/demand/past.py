"""One series on a regular grid: means over windows, and where origins and their targets lie.

A step is named by its begin. A forecast made at origin `o` knows the steps that begin at `o` or earlier, and
foretells the step that holds the instant `o + horizon`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats

Ints = NDArray[np.int64]

HORIZONS_SECONDS = (300, 600, 900, 1800, 3600)
QUANTILES = (0.05, 0.1, 0.5, 0.9, 0.95)
STRIDE_SECONDS = 900
"""Between two origins, where steps are not longer."""
DAY_SECONDS = 86_400
WEEK_SECONDS = 7 * DAY_SECONDS
HOUR_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class Origins:
    """Places on a series' grid, in the order of time.

    `newest` (n,) is the newest known step of each origin, `target` (n, horizons) the step that is foretold; it may
    lie beyond the end of the series. `wait` (horizons,) counts origins until a target is surely known.
    """

    step_seconds: int
    stride_seconds: int
    origin_s: Ints
    newest: Ints
    target: Ints
    horizons: tuple[int, ...]
    wait: Ints

    def __len__(self) -> int:
        """Return the number of origins."""
        return len(self.newest)

    @property
    def day(self) -> int:
        """Return how many origins a day has."""
        return DAY_SECONDS // self.stride_seconds


class Past:
    """One series, with the mean over any window of it in constant time."""

    def __init__(self, values: Floats, step_seconds: int) -> None:
        """Take a series.

        Args:
            values: (n,) one for each step, NaN where missing.
            step_seconds: length of a step.
        """
        known = ~np.isnan(values)
        self.values = values
        self.step_seconds = step_seconds
        self._sum = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
        self._count = np.concatenate([[0], np.cumsum(known)])
        place = np.where(known, np.arange(len(values)), -1)
        self._last = np.maximum.accumulate(place) if len(values) else place

    def steps(self, seconds: float) -> int:
        """Return how many steps a span has, at least one."""
        return max(1, round(seconds / self.step_seconds))

    def at(self, places: Ints) -> Floats:
        """Return values, NaN outside of the series."""
        inside = (places >= 0) & (places < len(self.values))
        return np.where(inside, self.values[np.where(inside, places, 0)], np.nan)

    def mean(self, last: Ints, steps: int) -> Floats:
        """Return the mean of the known among `steps` steps up to and with `last`, NaN without any."""
        end = np.clip(last + 1, 0, len(self.values))
        begin = np.clip(last + 1 - steps, 0, len(self.values))
        count = self._count[end] - self._count[begin]
        total = self._sum[end] - self._sum[begin]
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def around(self, centre: Ints, half: int) -> Floats:
        """Return the mean of the steps from `half` before to `half` after `centre`."""
        return self.mean(centre + half, 2 * half + 1)

    def known(self, last: Ints, steps: int) -> Ints:
        """Return how many of `steps` steps up to and with `last` are known."""
        end = np.clip(last + 1, 0, len(self.values))
        begin = np.clip(last + 1 - steps, 0, len(self.values))
        counted: Ints = self._count[end] - self._count[begin]
        return counted

    def last_known(self, places: Ints) -> Floats:
        """Return the newest known value at or before each place, NaN where there is none."""
        found = self._last[np.clip(places, 0, len(self.values) - 1)]
        return np.where(found >= 0, self.values[np.maximum(found, 0)], np.nan)

    def age_steps(self, places: Ints) -> Ints:
        """Return how many steps old the newest known value is; large where there is none."""
        found = self._last[np.clip(places, 0, len(self.values) - 1)]
        age: Ints = np.where(found >= 0, places - found, 10**9)
        return age

    def window(self, last: Ints, steps: int) -> Floats:
        """Return (n, steps) values up to and with `last`, the newest last."""
        return self.at(last[:, None] - np.arange(steps - 1, -1, -1))


def origins_of(start_s: int, step_seconds: int, origin_s: Ints) -> Origins:
    """Return where origins and their targets lie on a grid.

    Args:
        start_s: when the first step begins.
        step_seconds: length of a step.
        origin_s: (n,) when forecasts are made, evenly spaced, none before `start_s`.
    """
    stride = max(STRIDE_SECONDS, step_seconds)
    horizons = tuple(seconds for seconds in HORIZONS_SECONDS if seconds >= step_seconds)
    since = origin_s - start_s
    ahead = np.array(horizons, dtype=np.int64)
    return Origins(
        step_seconds,
        stride,
        origin_s,
        since // step_seconds,
        (since[:, None] + ahead) // step_seconds,
        horizons,
        np.array([math.ceil(seconds / stride) for seconds in horizons], dtype=np.int64),
    )


def origin_times(start_s: int, end_s: int, step_seconds: int) -> Ints:
    """Return when to forecast on a grid whose first step begins at `start_s` and whose last at `end_s`.

    Whole quarters of an hour where the grid has them, else quarters of an hour after its begin; each step where
    steps are longer.
    """
    stride = max(STRIDE_SECONDS, step_seconds)
    begin = start_s
    if stride == STRIDE_SECONDS and start_s % math.gcd(step_seconds, STRIDE_SECONDS) == 0:
        begin = -(-start_s // STRIDE_SECONDS) * STRIDE_SECONDS
    return np.arange(begin, end_s + 1, stride, dtype=np.int64)


def rolling_mean(rows: Floats, width: int, wait: Ints) -> Floats:
    """Return the mean of the newest `width` rows that are known at each row, NaN without any.

    Args:
        rows: (n, horizons, ...) what is known `wait` rows later; NaN is left out.
        width: how many rows count.
        wait: (horizons,) rows until a row is known.
    """
    known = ~np.isnan(rows)
    total = np.cumsum(np.where(known, rows, 0.0), axis=0)
    count = np.cumsum(known, axis=0)
    result = np.full(rows.shape, np.nan)
    place = np.arange(len(rows))
    for horizon, later in enumerate(wait.tolist()):
        end = place - later
        begin = end - width
        sums = _upto(total[:, horizon], end) - _upto(total[:, horizon], begin)
        counts = _upto(count[:, horizon], end) - _upto(count[:, horizon], begin)
        result[:, horizon] = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return result


def _upto(summed: NDArray[np.generic], place: Ints) -> Floats:
    taken = summed[np.maximum(place, 0)].astype(np.float64)
    taken[place < 0] = 0.0
    return taken
