"""One series on a regular grid: means over windows, and where origins and their targets lie.

A step is named by its begin. A forecast made at origin `o` knows the steps that begin at `o` or earlier, and
foretells the step that holds the instant `o + horizon`.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, replace

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

    def some(self, rows: slice) -> Origins:
        """Return some of the origins."""
        return replace(
            self,
            origin_s=self.origin_s[rows],
            newest=self.newest[rows],
            target=self.target[rows],
        )

    def with_horizons(self, chosen: NDArray[np.bool_]) -> Origins:
        """Return the origins with some of the horizons."""
        kept = tuple(
            ahead for ahead, keep in zip(self.horizons, chosen.tolist(), strict=True) if keep
        )
        return replace(self, target=self.target[:, chosen], horizons=kept, wait=self.wait[chosen])


class Past:
    """Series on one grid, with the mean over any window of them in constant time.

    Places are asked for row by row: of one series at many origins, or of many series, each at an origin of its own.
    """

    def __init__(self, values: Floats, step_seconds: int, rows: Ints | None = None) -> None:
        """Take a series, or several.

        Args:
            values: (steps,), or (series, steps); NaN where missing.
            step_seconds: length of a step.
            rows: of several series, the one that each row of places is of.
        """
        table = np.atleast_2d(values)
        known = ~np.isnan(table)
        series, length = table.shape
        self.values = values
        self.table = table
        self.length = length
        self.step_seconds = step_seconds
        self.rows = np.zeros(1, dtype=np.int64) if rows is None else rows
        self._sum = np.zeros((series, length + 1))
        np.cumsum(np.where(known, table, 0.0), axis=1, out=self._sum[:, 1:])
        self._count = np.zeros((series, length + 1), dtype=np.int64)
        np.cumsum(known, axis=1, out=self._count[:, 1:])
        place = np.where(known, np.arange(length), -1)
        self._last = np.maximum.accumulate(place, axis=1) if length else place

    def of_rows(self, rows: Ints) -> Past:
        """Return the same series, asked for by other rows."""
        other = copy(self)
        other.rows = rows
        return other

    def steps(self, seconds: float) -> int:
        """Return how many steps a span has, at least one."""
        return max(1, round(seconds / self.step_seconds))

    def at(self, places: Ints) -> Floats:
        """Return values, NaN outside of the series."""
        inside = (places >= 0) & (places < self.length)
        found = self.table[self._of(places), np.where(inside, places, 0)]
        return np.where(inside, found, np.nan)

    def mean(self, last: Ints, steps: int) -> Floats:
        """Return the mean of the known among `steps` steps up to and with `last`, NaN without any."""
        end, begin = self._inside(last + 1), self._inside(last + 1 - steps)
        rows = self._of(last)
        count = self._count[rows, end] - self._count[rows, begin]
        total = self._sum[rows, end] - self._sum[rows, begin]
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def around(self, centre: Ints, half: int) -> Floats:
        """Return the mean of the steps from `half` before to `half` after `centre`."""
        return self.mean(centre + half, 2 * half + 1)

    def known(self, last: Ints, steps: int) -> Ints:
        """Return how many of `steps` steps up to and with `last` are known."""
        end, begin = self._inside(last + 1), self._inside(last + 1 - steps)
        rows = self._of(last)
        counted: Ints = self._count[rows, end] - self._count[rows, begin]
        return counted

    def last_known(self, places: Ints) -> Floats:
        """Return the newest known value at or before each place, NaN where there is none."""
        rows = self._of(places)
        found = self._last[rows, np.clip(places, 0, self.length - 1)]
        return np.where(found >= 0, self.table[rows, np.maximum(found, 0)], np.nan)

    def age_steps(self, places: Ints) -> Ints:
        """Return how many steps old the newest known value is; large where there is none."""
        found = self._last[self._of(places), np.clip(places, 0, self.length - 1)]
        age: Ints = np.where(found >= 0, places - found, 10**9)
        return age

    def window(self, last: Ints, steps: int) -> Floats:
        """Return (n, steps) values up to and with `last`, the newest last."""
        return self.at(last[:, None] - np.arange(steps - 1, -1, -1))

    def _inside(self, places: Ints) -> Ints:
        # Two calls are faster than one of np.clip, and this is asked very often.
        inside: Ints = np.minimum(np.maximum(places, 0), self.length)
        return inside

    def _of(self, places: Ints) -> Ints:
        return self.rows.reshape(-1, *[1] * (places.ndim - 1))


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
