"""Many series, each from one origin to the next: what `features.walked` computes, for the newest origin alone.

The columns of an origin rest on a week of errors of points whose bases rest on the week before: walking through all
of it at every origin costs some hundred times what the origin itself does. So sums are carried along: what enters a
window is added once, and the sum that ends where a window begins follows a day or a week behind, from points made
anew of the history. They are the sums that a walk from the beginning would make, in the same order, so the numbers
are equal to the bit and nothing of this is state: what is lost or no longer fits its history is walked through again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.demand.features import (
    SHORT_ORIGINS,
    BaseErrors,
    Described,
    PointLosses,
    Walked,
    described_by,
)
from features.demand.past import STRIDE_SECONDS, Ints, Origins, Past, origins_of
from features.demand.rules import BAND_ORIGINS, LEANT_ON, RULES, Points, Seasons, rule_points
from features.demand.seasonal import (
    NO_PERIOD,
    WEIGHTS,
    Period,
    Smoothed,
    best_way,
    fitted_period,
    refit_origins,
)
from features.series.quantiles import Floats

Errors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Followed:
    """Series at an origin, on one grid from `start_s` to the origin's step.

    `past` has a row for each series; `first` (series,) is the place of each one's first known step.
    """

    past: Past
    first: Ints
    start_s: int
    step_seconds: int
    origin_s: int

    @property
    def values(self) -> Floats:
        """Return (series, steps), NaN where missing."""
        return self.past.table

    def first_known(self) -> Ints:
        """Return (series,) when the first known step of each begins."""
        begun: Ints = self.start_s + self.first * self.step_seconds
        return begun

    def begins(self) -> Ints:
        """Return (series,) when each one's first origin is."""
        known, stride = self.first_known(), max(STRIDE_SECONDS, self.step_seconds)
        first: Ints = known + (self.origin_s - known) % stride
        return first

    def origins(self, times: Ints | None = None) -> Origins:
        """Return places on the grid of each series' newest origin, or of other times."""
        newest = np.full(len(self.first), self.origin_s, dtype=np.int64)
        return origins_of(self.start_s, self.step_seconds, newest if times is None else times)

    def one(self, place: int) -> tuple[Past, Origins]:
        """Return one series from its first known step on, and all its origins."""
        start_s = int(self.first_known()[place])
        times = np.arange(
            self.begins()[place],
            self.origin_s + 1,
            max(STRIDE_SECONDS, self.step_seconds),
            dtype=np.int64,
        )
        past = Past(self.values[place, self.first[place] :], self.step_seconds)
        return past, origins_of(start_s, self.step_seconds, times)


@dataclass(slots=True)
class _Sums:
    """Sums of what arrived, up to the newest origin and up to some origins before it.

    `total` and `count` are (series, lags, horizons, ...).
    """

    total: Floats
    count: Floats

    def add(self, rows: Ints, arrived: Floats) -> None:
        """Take what arrived (series, lags, horizons, ...), NaN where nothing did."""
        known = ~np.isnan(arrived)
        self.total[rows] += np.where(known, arrived, 0.0)
        self.count[rows] += known

    def mean(self, rows: Ints, lag: int) -> Floats:
        """Return the mean of what arrived since a lag, by its place, NaN where nothing did."""
        total = self.total[rows, 0] - self.total[rows, lag]
        count = self.count[rows, 0] - self.count[rows, lag]
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def put(self, row: int, arrived: Floats, lags: Ints) -> None:
        """Begin a row with all that arrived at its origins (n, horizons, ...)."""
        known = ~np.isnan(arrived)
        total = np.cumsum(np.where(known, arrived, 0.0), axis=0)
        count = np.cumsum(known, axis=0)
        for place, lag in enumerate(lags.tolist()):
            last = len(arrived) - 1 - lag
            self.total[row, place] = total[last] if last >= 0 else 0.0
            self.count[row, place] = count[last] if last >= 0 else 0.0


class Walks:
    """Series whose origins are whole strides apart, by row."""

    def __init__(self, rows: int, step_seconds: int) -> None:
        """Make room for so many series."""
        frame = origins_of(0, step_seconds, np.zeros(1, dtype=np.int64))
        self._step, self._stride = step_seconds, frame.stride_seconds
        self._wait, self._refit = frame.wait, refit_origins(frame)
        day, week, horizons = frame.day, 7 * frame.day, len(frame.horizons)
        latest = int(frame.wait.max())
        self._day = day
        self._lags = np.array([0, SHORT_ORIGINS, day, week])
        self._miss_lags = np.array([0, 1, SHORT_ORIGINS, day, week])
        self._way_lags = np.array([0, 2 * day])
        self.newest_s = np.full(rows, -1, dtype=np.int64)
        """(rows,) the newest origin of each; -1 where there is none."""

        def ring(length: int, *shape: int) -> Floats:
            """Return NaN; the place of an origin is its number modulo the length."""
            return np.full((rows, length, horizons, *shape), np.nan)

        def sums(lags: Ints, *shape: int) -> _Sums:
            return _Sums(*(np.zeros((rows, len(lags), horizons, *shape)) for _ in range(2)))

        self._seasons = ring(week + latest + 1, 2)
        self._bases = ring(latest + 1)
        self._ways = ring(latest + 1, len(WEIGHTS))
        self._missed = ring(week + 1)
        self._ways_lost = ring(2 * day + 1, len(WEIGHTS))
        self._errors = ring(BAND_ORIGINS, len(RULES)).astype(np.float32)
        self._losses = sums(self._lags, len(LEANT_ON))
        self._misses = [sums(self._miss_lags) for _ in _kinds(np.zeros(1))]
        self._way_losses = sums(self._way_lags, len(WEIGHTS))
        self._smoothed = Smoothed.new(rows, day)
        self._periods: list[Period] = [NO_PERIOD] * rows

    def begin(self, row: int, walked: Walked, origins: Origins) -> None:
        """Put a series into a row: where it stands after a walk through `origins`, which may be none."""
        rules, wait = walked.rules, origins.wait
        errors = _arrived(rules.errors(), wait)
        missed = _arrived(walked.missed, wait)
        ways_lost = _arrived(np.abs(walked.ways - rules.truth[..., None]), wait)
        numbers = origins.origin_s // self._stride
        for ring, rows in (
            (self._seasons, walked.seasons.stacked()),
            (self._bases, walked.base),
            (self._ways, walked.ways),
            (self._missed, missed),
            (self._ways_lost, ways_lost),
            (self._errors, errors[:, :, : len(RULES)]),
        ):
            length = ring.shape[1]
            ring[row] = np.nan
            ring[row, numbers[-length:] % length] = rows[-length:]
        self._losses.put(row, np.abs(errors), self._lags)
        for sums, sizes in zip(self._misses, _kinds(missed), strict=True):
            sums.put(row, sizes, self._miss_lags)
        self._way_losses.put(row, ways_lost, self._way_lags)
        self._smoothed.put(np.array([row]), walked.smoothed)
        self._periods[row] = walked.period

    def advance(self, rows: Ints, followed: Followed) -> tuple[Described, list[Errors]]:
        """Take the next origin of some series.

        Args:
            rows: the row of each series, which stands one stride before the origin.
            followed: the series.

        Returns:
            what a model reads, and by horizon the newest errors of the rules, (series, RULES, BAND_ORIGINS).
        """
        past = followed.past
        origins = followed.origins()
        number = followed.origin_s // self._stride
        ways = self._smooth(rows, past, origins, number)
        self._learn(rows, past, followed, number)
        best = best_way(ways, self._way_losses.mean(rows, 1))
        seasons = Seasons(best, self._repeated(rows, followed, origins))
        _put(self._seasons, rows, number, seasons.stacked())
        rules = rule_points(past, origins, seasons)
        losses = PointLosses(*(self._losses.mean(rows, lag) for lag in (1, 2, 3)))
        _put(self._bases, rows, number, losses.base(rules.points))
        described = described_by(past, origins, rules, losses, self._base_errors(rows, number))
        self.newest_s[rows] = followed.origin_s
        errors = self._errors[rows]
        return described, [
            errors[:, :, place].transpose(0, 2, 1) for place in range(len(self._wait))
        ]

    def _smooth(self, rows: Ints, past: Past, origins: Origins, number: int) -> Floats:
        """Let Holt-Winters take the newest stride; return (series, horizons, weights) what it says."""
        blocks = past.mean(origins.newest, past.steps(self._stride))
        smoothed, slot = self._smoothed.of(rows), number % self._day
        smoothed.push(blocks, slot)
        self._smoothed.put(rows, smoothed)
        points = smoothed.points(slot, self._wait)
        _put(self._ways, rows, number, points)
        return points

    def _learn(self, rows: Ints, past: Past, followed: Followed, number: int) -> None:
        """Take what came: of each horizon the origin as far back as its wait, and those behind by a lag."""
        series, lags = len(rows), len(self._lags)
        shape = (series, lags, len(self._wait))
        errors = np.full((*shape, len(LEANT_ON)), np.nan)
        missed = np.full((series, len(self._wait)), np.nan)
        ways_lost = np.full((series, len(self._wait), len(WEIGHTS)), np.nan)
        for wait in np.unique(self._wait).tolist():
            chosen = self._wait == wait
            numbers = number - wait - self._lags
            rules = self._rules_at(rows, past, followed, chosen, numbers)
            found = rules.errors().reshape(series, lags, -1, len(LEANT_ON))
            times = followed.origin_s + (numbers - number) * self._stride
            begun = times >= followed.first_known()[:, None]
            errors[:, :, chosen] = np.where(begun[..., None, None], found, np.nan)
            now = rules.some(slice(None, None, lags))
            base = _take(self._bases, rows, number - wait)[:, chosen]
            missed[:, chosen] = (now.truth - base) / now.error_root(base)
            ways = _take(self._ways, rows, number - wait)[:, chosen]
            ways_lost[:, chosen] = np.abs(ways - now.truth[..., None])
        self._losses.add(rows, np.abs(errors))
        _put(self._errors, rows, number, errors[:, 0, :, : len(RULES)])
        _put(self._missed, rows, number, missed)
        _put(self._ways_lost, rows, number, ways_lost)
        arrived = _take(self._missed, rows[:, None], number - self._miss_lags)
        for sums, sizes in zip(self._misses, _kinds(arrived), strict=True):
            sums.add(rows, sizes)
        self._way_losses.add(rows, _take(self._ways_lost, rows[:, None], number - self._way_lags))

    def _rules_at(
        self,
        rows: Ints,
        past: Past,
        followed: Followed,
        chosen: NDArray[np.bool_],
        numbers: Ints,
    ) -> Points:
        """Return what the rules said at some origins, for some horizons: (series * origins, horizons, LEANT_ON)."""
        times = followed.origin_s + (numbers - followed.origin_s // self._stride) * self._stride
        origins = followed.origins(np.tile(times, len(rows))).with_horizons(chosen)
        said = _take(self._seasons, rows[:, None], numbers)[:, :, chosen]
        said = said.reshape(len(origins), -1, 2)
        each = past.of_rows(np.repeat(np.arange(len(rows)), len(numbers)))
        return rule_points(each, origins, Seasons(said[..., 0], said[..., 1]))

    def _repeated(self, rows: Ints, followed: Followed, origins: Origins) -> Floats:
        """Return (series, horizons) points of the Fourier rule, made anew for series whose time has come."""
        result = np.full(origins.target.shape, np.nan)
        number = followed.origin_s // self._stride
        due = (number - followed.begins() // self._stride) % self._refit == 0
        for place, row in enumerate(rows.tolist()):
            first = int(followed.first[place])
            if due[place]:
                end = int(origins.newest[place]) - first + 1
                values = followed.values[place, first:]
                self._periods[row] = fitted_period(values, end, self._step)
            period = self._periods[row]
            if len(period.values):
                target = origins.target[place] - first
                result[place] = period.values[(target - period.end) % len(period.values)]
        return result

    def _base_errors(self, rows: Ints, number: int) -> BaseErrors:
        signed, sizes, squares = self._misses
        short, day, week = 2, 3, 4
        horizons = np.arange(len(self._wait))
        yesterday, last_week = (
            self._missed[
                rows[:, None], (number - lag + self._wait) % self._missed.shape[1], horizons
            ]
            for lag in (self._day, 7 * self._day)
        )
        return BaseErrors(
            signed.mean(rows, 1),
            signed.mean(rows, short),
            sizes.mean(rows, short),
            sizes.mean(rows, day),
            sizes.mean(rows, week),
            squares.mean(rows, day),
            yesterday,
            last_week,
        )


def _kinds(missed: Floats) -> tuple[Floats, Floats, Floats]:
    """Return errors as they are, their sizes, and their squares."""
    return missed, np.abs(missed), missed * missed


def _arrived(rows: Floats, wait: Ints) -> Floats:
    """Return (n, horizons, ...) what became known at each origin: of each horizon the row as far back as its wait."""
    result = np.full(rows.shape, np.nan)
    for horizon, later in enumerate(wait.tolist()):
        result[later:, horizon] = rows[: max(0, len(rows) - later), horizon]
    return result


def _put(ring: NDArray[Any], rows: Ints, number: int, values: NDArray[Any]) -> None:
    ring[rows, number % ring.shape[1]] = values


def _take(ring: Floats, rows: Ints, number: int | Ints) -> Floats:
    taken: Floats = ring[rows, number % ring.shape[1]]
    return taken
