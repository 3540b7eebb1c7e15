"""Functions of ranges: rates, extremes, regressions of the samples in each step's window.

A window holds both its ends, as in Prometheus 2; Prometheus 3 leaves out a sample at its very beginning.
Rates are extrapolated to the window's ends as Prometheus does it (promql/functions.go extrapolatedRate).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from twin.promql.failures import Budget
from twin.promql.statistics import quantiles
from twin.promql.values import Batch, Bools, Floats, Ranges, Times, Vector

NEAR = 1.1
"""A sample within so many mean distances of the window's end is taken to have been the last for chance."""


@dataclass(slots=True, frozen=True)
class Window:
    """Series of one batch and where each step's window begins and ends among their samples."""

    values: Floats
    times: Times
    low: Times
    high: Times
    """One behind the last sample of the window."""
    ends: Times
    range_ms: int
    steps: Times
    parameter: Floats
    """The function's other argument at each step; zeros where it has none."""

    @property
    def counts(self) -> Times:
        """Samples in each window."""
        return self.high - self.low

    @property
    def last(self) -> Floats:
        """The newest sample of each window; without meaning for an empty one."""
        return self.values[:, np.maximum(self.high - 1, 0)]

    @property
    def first(self) -> Floats:
        """The oldest sample of each window; without meaning for an empty one."""
        return self.values[:, np.minimum(self.low, self.values.shape[1] - 1)]

    def seconds(self, places: Times) -> Floats:
        """Return the times of samples in seconds since the window's end, which is exact."""
        places = np.clip(places, 0, len(self.times) - 1)
        return (self.times[places] - self.ends) / 1_000.0


Reduction = Callable[[Window], Floats]


def apply_to_windows(name: str, ranges: Ranges, parameter: Floats, budget: Budget) -> Vector:
    """Return a function of each window; the metric names stay."""
    least, reduce = RANGE_FUNCTIONS[name]
    parts = []
    for batch in ranges.batches:
        low = np.searchsorted(batch.times, ranges.ends - ranges.range_ms, side="left")
        high = np.searchsorted(batch.times, ranges.ends, side="right")
        filled = high - low >= least
        if not filled.any():
            continue
        series = len(batch.labels)
        used = len(batch.times) if name in _AT_ENDS else int((high - low).sum())
        looped = len(ranges.ends) if name in _LOOPED else 4
        budget.spend(series * (used + len(ranges.ends)), looped)
        window = Window(
            batch.values,
            batch.times,
            low,
            high,
            ranges.ends,
            ranges.range_ms,
            ranges.steps,
            parameter,
        )
        with np.errstate(all="ignore"):
            values = reduce(window)
        present = _present(name, window, filled, series)
        parts.append(Vector(list(batch.labels), values, present))
    return Vector.joined(parts, len(ranges.ends))


def _present(name: str, window: Window, filled: Bools, series: int) -> Bools:
    if name == "irate":  # two samples at one time have no rate
        apart = window.seconds(window.high - 1) > window.seconds(window.high - 2)
        filled = filled & apart
    return np.broadcast_to(filled, (series, len(filled))).copy()


def samples_of(batch: Batch) -> int:
    """Return how many samples a batch holds."""
    return batch.values.size


# ---- rates


def _rate(window: Window, *, counter: bool, per_second: bool) -> Floats:
    low, high = window.low, window.high
    first, risen = window.first, window.last - window.first
    if counter:
        risen = risen + _lost_at_resets(window)
    begin, end = window.seconds(low), window.seconds(high - 1)
    to_start, to_end = begin + window.range_ms / 1_000.0, -end
    sampled = end - begin
    distance = sampled / (window.counts - 1)
    before = np.broadcast_to(to_start, risen.shape)
    if counter:  # it does not begin below zero
        to_zero = sampled * (first / risen)
        before = np.where((risen > 0) & (first >= 0) & (to_zero < before), to_zero, before)
    near = distance * NEAR
    covered = sampled + np.where(before < near, before, distance / 2.0)
    covered = covered + np.where(to_end < near, to_end, distance / 2.0)
    factor = covered / sampled
    if per_second:
        factor = factor / (window.range_ms / 1_000.0)
    return np.asarray(risen * factor)


def _lost_at_resets(window: Window) -> Floats:
    """Return, of each window, the sum of the values before a fall."""
    values = window.values
    fallen = values[:, 1:] < values[:, :-1]
    if not fallen.any():
        return np.zeros((len(values), len(window.low)))
    lost = np.concatenate(
        [np.zeros((len(values), 1)), np.where(fallen, values[:, :-1], 0.0)], axis=1
    )
    return _reduce(np.add, lost, np.minimum(window.low + 1, window.high), window.high)


def _last_two(window: Window) -> tuple[Floats, Floats]:
    return window.last, window.values[:, np.maximum(window.high - 2, 0)]


def _irate(window: Window) -> Floats:
    last, previous = _last_two(window)
    seconds = window.seconds(window.high - 1) - window.seconds(window.high - 2)
    return np.asarray(np.where(last < previous, last, last - previous) / seconds)


def _idelta(window: Window) -> Floats:
    last, previous = _last_two(window)
    return last - previous


# ---- what is reduced without a loop


def _reduce(ufunc: np.ufunc, values: Floats, low: Times, high: Times) -> Floats:
    """Reduce [low, high) of each row; without meaning where that is empty."""
    padded = np.concatenate([values, np.zeros((len(values), 1))], axis=1)
    places = np.stack([low, high], axis=1).ravel()
    reduced = np.asarray(ufunc.reduceat(padded, places, axis=1)[:, ::2])
    if ufunc is np.add:
        reduced = np.where(low < high, reduced, 0.0)
    return reduced


def _sum(window: Window) -> Floats:
    return _reduce(np.add, window.values, window.low, window.high)


def _avg(window: Window) -> Floats:
    return np.asarray(_sum(window) / window.counts)


def _count(window: Window) -> Floats:
    counts = window.counts.astype(np.float64)
    return np.broadcast_to(counts, (len(window.values), len(counts))).copy()


def _changes_where(window: Window, changed: Bools) -> Floats:
    """Count the places of `changed`, which are between two samples, in each window."""
    marks = np.concatenate([np.zeros((len(window.values), 1)), changed.astype(np.float64)], axis=1)
    return _reduce(np.add, marks, np.minimum(window.low + 1, window.high), window.high)


def _changes(window: Window) -> Floats:
    old, new = window.values[:, :-1], window.values[:, 1:]
    return _changes_where(window, (old != new) & ~(np.isnan(old) & np.isnan(new)))


def _resets(window: Window) -> Floats:
    return _changes_where(window, window.values[:, 1:] < window.values[:, :-1])


# ---- what is worked out window by window


def _each(window: Window, reduce: Callable[[Floats, int], Floats]) -> Floats:
    """Reduce the samples (series, samples) of each step's window."""
    made = np.full((len(window.values), len(window.low)), np.nan)
    for step in np.flatnonzero(window.counts > 0).tolist():
        samples = window.values[:, window.low[step] : window.high[step]]
        made[:, step] = reduce(samples, step)
    return made


def _variance(window: Window) -> Floats:
    return _each(window, lambda samples, _: np.asarray(np.var(samples, axis=1)))


def _quantile(window: Window) -> Floats:
    shares = window.parameter
    return _each(window, lambda samples, step: quantiles(samples.T, float(shares[step])))


def _regression(
    window: Window, samples: Floats, step: int, origin_ms: int
) -> tuple[Floats, Floats]:
    """Return slope per second and value at `origin_ms` of the least squares line of each series."""
    at = (window.times[window.low[step] : window.high[step]] - origin_ms) / 1_000.0
    middle, mean = at.mean(), samples.mean(axis=1)
    away = at - middle
    slope = (samples - mean[:, None]) @ away / (away @ away)
    value = mean - slope * middle
    constant = (samples == samples[:, :1]).all(axis=1)
    flat = np.where(np.isinf(samples[:, 0]), np.nan, samples[:, 0])
    return np.where(constant, flat * 0.0, slope), np.where(constant, flat, value)


def _deriv(window: Window) -> Floats:
    def slope(samples: Floats, step: int) -> Floats:
        if samples.shape[1] < 2:
            return np.full(len(samples), np.nan)
        return _regression(window, samples, step, int(window.times[window.low[step]]))[0]

    return _each(window, slope)


def _predict(window: Window) -> Floats:
    def value(samples: Floats, step: int) -> Floats:
        if samples.shape[1] < 2:
            return np.full(len(samples), np.nan)
        slope, here = _regression(window, samples, step, int(window.steps[step]))
        return np.asarray(slope * window.parameter[step] + here)

    return _each(window, value)


RANGE_FUNCTIONS: Mapping[str, tuple[int, Reduction]] = {
    "rate": (2, lambda window: _rate(window, counter=True, per_second=True)),
    "increase": (2, lambda window: _rate(window, counter=True, per_second=False)),
    "delta": (2, lambda window: _rate(window, counter=False, per_second=False)),
    "irate": (2, _irate),
    "idelta": (2, _idelta),
    "sum_over_time": (1, _sum),
    "avg_over_time": (1, _avg),
    "count_over_time": (1, _count),
    "min_over_time": (1, lambda w: _reduce(np.fmin, w.values, w.low, w.high)),
    "max_over_time": (1, lambda w: _reduce(np.fmax, w.values, w.low, w.high)),
    "last_over_time": (1, lambda window: window.last),
    "present_over_time": (1, lambda window: np.ones((len(window.values), len(window.low)))),
    "stdvar_over_time": (1, _variance),
    "stddev_over_time": (1, lambda window: np.asarray(np.sqrt(_variance(window)))),
    "quantile_over_time": (1, _quantile),
    "changes": (1, _changes),
    "resets": (1, _resets),
    "deriv": (2, _deriv),
    "predict_linear": (2, _predict),
}
"""By name: how many samples a window needs, and the function."""
_AT_ENDS = frozenset(
    {
        "rate",
        "increase",
        "delta",
        "irate",
        "idelta",
        "last_over_time",
        "present_over_time",
        "count_over_time",
    }
)
"""Functions that look at a window's first and last samples, and at falls, of which there are few."""
_LOOPED = frozenset(
    {"stdvar_over_time", "stddev_over_time", "quantile_over_time", "deriv", "predict_linear"}
)
