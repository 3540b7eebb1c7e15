"""Rows to learn from: tables of rates, as they are and made coarser or noisier.

What a model meets has other steps and other sizes than the tables at hand: a Service with few requests is mostly
noise of counts, and a store may keep five minutes or an hour. So each table lends its series again with longer
steps, and, where steps are short, thinned to few requests with the noise that such counts have. Draws come from the
names and the seed alone: equal tables give equal rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from features.demand.features import describe
from features.demand.past import Past, origin_times, origins_of
from features.series.quantiles import Floats
from lab.forecast.progress import Progress
from lab.forecast.rates.table import RateSeries, RateTable

NATIVE_ROWS = 12_000
VARIANT_ROWS = 2_500
EQUAL_ROWS = 5_000
"""A table of so many rows weighs one; others by the root of their rows."""
COARSER = {60: (300, 1800), 300: (900, 3600), 600: (1800, 3600), 900: (3600,)}
THINNED_MEANS = (12.0, 150.0)
"""Requests a step."""
THINNED_UP_TO = 300
WIDEST_SCALE = 3.0
"""Of the series' mean: a row weighs no more."""
HIGHEST_NUMBER = 50.0
FIRST_HOURS = 3
HELD_OUT_DAYS = 5
"""Every fifth day calibrates."""
SEED = 20_150_401
TRAIN = "train"


@dataclass(frozen=True)
class LearningRows:
    """(n, COLUMNS) features, (n,) what came in scales above the base, (n,) weights, and (n,) the day of each origin."""

    features: NDArray[np.float32]
    numbers: Floats
    weights: Floats
    days: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)

    def take(self, chosen: NDArray[np.bool_]) -> LearningRows:
        """Return some of the rows."""
        return LearningRows(
            self.features[chosen], self.numbers[chosen], self.weights[chosen], self.days[chosen]
        )

    @property
    def held_out(self) -> NDArray[np.bool_]:
        """Return which rows calibrate."""
        held: NDArray[np.bool_] = self.days % HELD_OUT_DAYS == 0
        return held


def learning_rows(tables: Sequence[RateTable], part: str, progress: Progress) -> LearningRows:
    """Return the rows of all tables, in order: those of `part` where a table has parts, else all.

    Raises:
        InputError: there is none.
    """
    shares: list[LearningRows] = []
    for number, table in enumerate(tables):
        progress(f"rows of {table.name}", number / len(tables))
        code = table.splits.index(part) if part in table.splits else None
        for place, (name, limit, series) in enumerate(_variants(table, code)):
            share = _share(series, name, limit, code, len(table.names), place)
            if share is not None:
                shares.append(share)
    if not shares:
        names = ", ".join(table.name for table in tables)
        remedy = f"none of their rows can be learnt from: give series longer than {FIRST_HOURS} h, not all 0"
        raise InputError("tables of rates", names, remedy)
    return _pooled(shares)


def _variants(
    table: RateTable, code: int | None
) -> Iterator[tuple[int, int, Iterator[RateSeries]]]:
    """Yield the step, the most rows, and the series of a table and of what is made of it."""
    step = table.step_seconds
    yield step, NATIVE_ROWS, iter(table)
    for coarser in COARSER.get(step, ()):
        yield coarser, VARIANT_ROWS, (_coarser(one, coarser // step) for one in table)
    if step <= THINNED_UP_TO:
        for place, mean in enumerate(THINNED_MEANS):
            yield step, VARIANT_ROWS, (_thinned(one, mean, place, code) for one in table)


def _draws(*numbers: int) -> Any:
    """Return a generator whose draws come from the seed and these numbers alone."""
    return np.random.Generator(np.random.PCG64([SEED, *numbers]))  # noqa: TID251 - made from a seed


def _coarser(series: RateSeries, times: int) -> RateSeries:
    count = len(series.values) // times
    blocks = series.values[: count * times].reshape(count, times)
    known = ~np.isnan(blocks)
    total = np.where(known, blocks, 0.0).sum(axis=1)
    mean = np.where(known.sum(axis=1) > times / 2, total / np.maximum(known.sum(axis=1), 1), np.nan)
    # A block belongs to the part that its last step belongs to.
    return RateSeries(
        series.name, series.start_s, mean, series.split[times - 1 : count * times : times]
    )


def _thinned(series: RateSeries, mean: float, place: int, code: int | None) -> RateSeries:
    random = _draws(place, len(series.values))
    # What is not learnt from must not lend its level, either.
    own = ~np.isnan(series.values) & ((series.split == code) if code is not None else True)
    usual = series.values[own].mean() if own.any() else 0.0
    rate = np.nan_to_num(series.values) * (mean / usual if usual > 0 else 0.0)
    counts = random.poisson(np.minimum(rate, 1e6)).astype(np.float64)
    return RateSeries(
        series.name, series.start_s, np.where(np.isnan(series.values), np.nan, counts), series.split
    )


def _share(
    many: Iterator[RateSeries], step: int, limit: int, code: int | None, count: int, place: int
) -> LearningRows | None:
    """Return at most `limit` rows of one variant: each series lends equally many."""
    each = max(1, limit // count)
    shares = [
        _rows_of(series, step, code, each, place, number) for number, series in enumerate(many)
    ]
    known = [share for share in shares if len(share)]
    if not known:
        return None
    whole = _pooled(known)
    weights = whole.weights / whole.weights.mean() * np.sqrt(EQUAL_ROWS / len(whole))
    # What is made of a table weighs half of the table itself.
    return LearningRows(
        whole.features, whole.numbers, weights * (0.5 if place else 1.0), whole.days
    )


def _rows_of(
    series: RateSeries, step: int, code: int | None, most: int, place: int, number: int
) -> LearningRows:
    last = series.start_s + (len(series.values) - 1) * step
    origins = origins_of(series.start_s, step, origin_times(series.start_s, last, step))
    described = describe(Past(series.values, step), origins)
    truth = described.rules.truth
    own = series.split[np.clip(origins.target, 0, len(series.values) - 1)] == code
    usable = ~np.isnan(truth) & ~np.isnan(described.base)
    usable[: FIRST_HOURS * 3600 // origins.stride_seconds] = False
    if code is not None:
        usable &= own
    rows, horizons = np.nonzero(usable)
    mean = float(truth[usable].mean()) if len(rows) else 0.0
    if mean <= 0:
        rows, horizons, mean = rows[:0], horizons[:0], 1.0
    if len(rows) > most:
        chosen = np.sort(_draws(place, number).choice(len(rows), most, replace=False))
        rows, horizons = rows[chosen], horizons[chosen]
    numbers = described.numbers()[rows, horizons]
    return LearningRows(
        described.features[rows, horizons],
        np.clip(numbers, -HIGHEST_NUMBER, HIGHEST_NUMBER),
        np.minimum(described.scale[rows, horizons] / mean, WIDEST_SCALE),
        origins.origin_s[rows] // 86_400,
    )


def _pooled(shares: Sequence[LearningRows]) -> LearningRows:
    return LearningRows(
        np.concatenate([share.features for share in shares]),
        np.concatenate([share.numbers for share in shares]),
        np.concatenate([share.weights for share in shares]),
        np.concatenate([share.days for share in shares]),
    )
