"""State between two minutes of n series whose demand is foreseen, and the constants that it rests on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats

MINUTES = (5, 15, 30, 60)
"""Horizons."""
LEVELS = (0.1, 0.5, 0.9)
"""Quantiles of low, middle and high."""
RULES = ("last_value", "trend", "daily")
LAST_VALUE, TREND, DAILY = range(3)
BASES = ("assumed", "similar", "own", "drift")
ASSUMED, SIMILAR, OWN, DRIFT = range(4)
"""Whose errors a band is made of; `drift`: own errors of the simple rule."""
KEPT_MINUTES = 75
TREND_MINUTES, DAMPING = 10, 0.95
QUARTER, QUARTERS = 15, 96
"""Minutes of a quarter of an hour, and how many a day has."""
REACH = tuple(math.fsum(DAMPING**step for step in range(1, ahead + 1)) for ahead in MINUTES)
"""Minutes that a damped slope goes on for, by horizon."""
DAILY_RATE = 0.3
"""What yesterday counts beside the days before."""
DAILY_GROWTH = 4.0
"""The daily rule multiplies and divides by at most so much."""
SLOTS = 5
"""Forecasts of one horizon that wait at once; every horizon/5 minutes one is kept for scoring."""
KEPT_ERRORS = 40
STEPS, MISSING = 1024, -32768
"""Errors are kept in steps of 1/1024 of the scale."""
FEWEST_ERRORS = 20
"""Errors from which a band is made; fewer borrow."""
FEWEST_SCORES = 10
"""Errors from which a rule can replace the simple one."""
BETTER = 0.95
"""A rule replaces the simple one when its errors are below so much of the simple one's."""
WORSE = 1.1
"""A rule has drifted when its errors exceed so many times the simple one's."""
RATE = 0.05
"""Weight of the newest error among recent ones."""
MISS_SHARE = 1.0 - (LEVELS[2] - LEVELS[0])
DRIFT_SHARE = 0.5
"""Share of recent values outside the band from which the series has drifted; 0.2 is what is meant."""
DRIFT_MINUTES = 30
"""How long the simple rule speaks then, at least; longer horizons as long as they are."""
WIDEN_RATE, NARROWEST, WIDEST = 0.1, 0.5, 4.0
SMALLEST_SCALE = 0.05
"""Errors are shares of the newest value, at least of so much of the largest one kept."""
ASSUMED_SPREAD = 0.1
"""Half a band at 5 minutes before anything was seen, as a share of the value; grows with the root of the time."""

# Columns of `issued`.
LOW, MIDDLE, HIGH, SCALE, POINTS = 0, 1, 2, 3, 4
COLUMNS = POINTS + len(RULES)

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class BandState:
    """State of n series; `ids` are sorted, the part before the first `/` is their kind."""

    ids: tuple[str, ...]
    minute: int
    """The newest whole minute, since the epoch of cluster time."""
    values: Array
    """(n, KEPT_MINUTES) float32, newest last, NaN where unknown."""
    profile: Array
    """(n, QUARTERS) float32: usual value by quarter of the day, NaN where none was seen."""
    issued: Array
    """(n, horizons, SLOTS, COLUMNS) float32: forecasts that wait for their horizon."""
    errors: Array
    """(n, horizons, rules, KEPT_ERRORS) int16: errors as shares of the scale, newest last."""
    recent: Array
    """(n, horizons, rules) float32: recent mean absolute error; NaN before the first."""
    scored: Array
    """(n, horizons) int32: forecasts that were scored."""
    missed: Array
    """(n, horizons) float32: recent share outside the band."""
    width: Array
    """(n, horizons) float32: by what the band is multiplied."""
    rule: Array
    """(n, horizons) int8: the rule in use."""
    drifted_until: Array
    """(n, horizons) int32: minute until which the simple rule speaks after drift; 0: none."""


ARRAYS: Mapping[str, tuple[str, tuple[int, ...], float]] = {
    "values": ("<f4", (KEPT_MINUTES,), math.nan),
    "profile": ("<f4", (QUARTERS,), math.nan),
    "issued": ("<f4", (len(MINUTES), SLOTS, COLUMNS), math.nan),
    "errors": ("<i2", (len(MINUTES), len(RULES), KEPT_ERRORS), MISSING),
    "recent": ("<f4", (len(MINUTES), len(RULES)), math.nan),
    "scored": ("<i4", (len(MINUTES),), 0),
    "missed": ("<f4", (len(MINUTES),), MISS_SHARE),
    "width": ("<f4", (len(MINUTES),), 1.0),
    "rule": ("<i1", (len(MINUTES),), LAST_VALUE),
    "drifted_until": ("<i4", (len(MINUTES),), 0),
}
"""Form, shape of a row, and value of a new row of each array of the state."""


@dataclass(frozen=True, slots=True, eq=False)
class Bands:
    """Forecasts of every series: (n, horizons, 3) low, middle and high, (n, horizons) rule and basis.

    NaN where the newest minute of a series is unknown.
    """

    values: Floats
    rule: Array
    basis: Array


def empty_bands(minute: int) -> BandState:
    """Return the state before the first minute."""
    return BandState((), minute, **_rows(0))


def with_ids(state: BandState, values: Mapping[str, float]) -> BandState:
    """Return the state with rows for exactly the series that are new or of which something is left."""
    left = np.flatnonzero((~np.isnan(state.values)).any(axis=1)).tolist()
    kept = {state.ids[row] for row in left}
    ids = tuple(sorted(kept | set(values)))
    if ids == state.ids:
        return state
    place = {name: row for row, name in enumerate(state.ids)}
    now, before = [], []
    for row, name in enumerate(ids):
        if name in place:
            now.append(row)
            before.append(place[name])
    rows = _rows(len(ids))
    for name, array in rows.items():
        array[now] = getattr(state, name)[before]
    return replace(state, ids=ids, **rows)


def _rows(count: int) -> dict[str, Any]:
    return {
        name: np.full((count, *shape), fill, dtype=form)
        for name, (form, shape, fill) in ARRAYS.items()
    }
