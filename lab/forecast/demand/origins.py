"""Origins of a family as rows: what was known, what each rule would have reserved, what came.

Guarantee: features and limits of a row are computed from windows before its origin alone; peaks
are the only columns that look ahead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from features.series.features import FEATURES, SeriesPast, Units, describe_past
from features.series.quantiles import Floats
from features.series.rules import HISTORY_WINDOWS, RC_LEVEL, highest, last_value, n_sigma, row_max
from features.series.windows import past_of_series
from lab.forecast.demand.baselines import (
    percentile_limits,
    rc_like,
    same_time_yesterday,
    vpa_limits,
)
from lab.forecast.demand.series import FIT_SHARE, TRAIN_SHARE, Family, Series, owner_place

LEAST_KNOWN = 12
"""Of the last two hours, this many windows must be known."""
ROWS_PER_CHUNK = 4096
"""Bounds memory: a row's past is 4 kB, its features are 0.2 kB."""

Ints = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Origins:
    """Rows of one family, ordered by (step, series).

    `owner` and `step` name the row; `limits` holds each rule's limit in the family's unit; `peaks`
    has one column per horizon, NaN where a third or more of the future is unknown; `so_far` is the
    owner's largest window before the origin, `top` the largest of all, in hindsight: only scores
    may read it. A row is in at most one of `fits` and `calibrates`; what `follows` is seen by online
    calibration, and what `tests` is scored.
    """

    owner: Ints
    step: Ints
    features: NDArray[np.float32]
    centre: Floats
    spread: Floats
    scale: Floats
    limits: dict[str, Floats]
    peaks: Floats
    so_far: Floats
    top: Floats
    capacity: Floats
    fits: Booleans
    calibrates: Booleans
    follows: Booleans
    tests: Booleans

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.step)

    @property
    def units(self) -> Units:
        """What a model's number means in each row."""
        return Units(self.centre, self.spread, self.scale)


def yesterday_at(windows: int) -> str:
    """Return the name of the rule `same time yesterday` for a horizon."""
    return f"same_time_yesterday_{windows}"


def origins_of(family: Family, horizons: Sequence[int]) -> Origins:
    """Return all rows of a family; `horizons` are in windows.

    Rows lie every `row_stride` windows; those on `stride` are scored.

    Raises:
        InputError: no series is long enough.
    """
    owners = sorted({series.owner for series in family.series})
    tops = {name: _top(family.series, name) for name in owners}
    number = {name: row for row, name in enumerate(owners)}
    parts = [
        _rows(
            family,
            series_of_owner,
            places,
            number[series_of_owner.owner],
            tops[series_of_owner.owner],
            horizons,
        )
        for series_of_owner in family.series
        if len(places := _places(family, series_of_owner, horizons))
    ]
    if not parts:
        raise InputError("demand family", family.title, "it is too short for these horizons")
    joined = _concat(parts)
    order = np.lexsort((joined.owner, joined.step))
    return _take_rows(joined, order)


def _places(family: Family, series: Series, horizons: Sequence[int]) -> Ints:
    """Return the origins that have enough history and room for the shortest horizon."""
    end = len(series.values) - min(horizons) + 1
    places = np.arange(HISTORY_WINDOWS, end, family.row_stride)
    return places[_known_enough(series.values, places)]


def _top(series: Sequence[Series], owner: str) -> float:
    return max(
        float(np.nanmax(usage_series.values, initial=0.0))
        for usage_series in series
        if usage_series.owner == owner
    )


def _rows(
    family: Family, series: Series, places: Ints, owner: int, top: float, horizons: Sequence[int]
) -> Origins:
    values = series.values
    peaks = np.stack([_peaks(values, places, windows) for windows in horizons], axis=1)
    steps = series.first_step + places
    features, units, limits = _known_rows(series, places, horizons)
    fits, calibrates, follows = _roles(family, series.owner, steps)
    on_stride = (places - HISTORY_WINDOWS) % family.stride == 0
    count = len(places)
    return Origins(
        owner=np.full(count, owner),
        step=steps,
        features=features,
        centre=units.centre,
        spread=units.spread,
        scale=units.scale,
        limits=limits,
        peaks=peaks,
        so_far=np.fmax.accumulate(values)[places - 1],
        top=np.full(count, top),
        capacity=np.full(count, series.capacity),
        fits=fits,
        calibrates=calibrates,
        follows=follows,
        tests=follows & on_stride & (steps >= family.split_step),
    )


def _roles(family: Family, owner: str, steps: Ints) -> tuple[Booleans, Booleans, Booleans]:
    """Return which rows fit, calibrate and follow, without regard to how far their peaks reach."""
    early = steps < family.split_step
    if not family.unseen_owners:
        fits = steps < family.calibration_step
        return fits, early & ~fits, ~fits
    place = owner_place(owner)
    learns, fits_owner = place < TRAIN_SHARE, place < TRAIN_SHARE * FIT_SHARE
    nothing = np.zeros(len(steps), dtype=np.bool_)
    if not learns:
        return nothing, nothing, ~nothing
    return (early, nothing, nothing) if fits_owner else (nothing, early, nothing)


def _known_rows(
    series: Series, places: Ints, horizons: Sequence[int]
) -> tuple[NDArray[np.float32], Units, dict[str, Floats]]:
    features = np.empty((len(places), len(FEATURES)), dtype=np.float32)
    units = np.empty((3, len(places)))
    chunks: list[dict[str, Floats]] = []
    capacity = series.capacity if math.isfinite(series.capacity) else math.nan
    for begin in range(0, len(places), ROWS_PER_CHUNK):
        rows = slice(begin, begin + ROWS_PER_CHUNK)
        past = past_of_series(series.values, series.first_step, places[rows], capacity)
        features[rows], past_units = describe_past(past)
        units[:, rows] = past_units.centre, past_units.spread, past_units.scale
        chunks.append(_recent_limits(past, horizons))
    names = chunks[0] if chunks else ()
    limits = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}
    rc_all = percentile_limits(series.values, places, RC_LEVEL)
    limits["vpa"] = vpa_limits(series.values, places)
    limits["rc_like"] = rc_all
    limits["max_n_sigma_rc"] = highest([limits["n_sigma"], rc_all])
    return features, Units(*units), limits


def _recent_limits(past: SeriesPast, horizons: Sequence[int]) -> dict[str, Floats]:
    yesterday = {
        yesterday_at(windows): same_time_yesterday(past.recent, windows) for windows in horizons
    }
    return yesterday | {
        "last_value": last_value(past.recent),
        "n_sigma": n_sigma(past.recent),
        "rc_like_2h": rc_like(past.recent),
        "max_n_sigma_rc_2h": highest([n_sigma(past.recent), rc_like(past.recent)]),
    }


def _known_enough(values: Floats, places: Ints) -> Booleans:
    known = np.concatenate([[0], np.cumsum(~np.isnan(values))])
    enough: Booleans = known[places] - known[places - HISTORY_WINDOWS] >= LEAST_KNOWN
    return enough


def _peaks(values: Floats, places: Ints, windows: int) -> Floats:
    padded = np.concatenate([values, np.full(windows, np.nan)])
    future = np.lib.stride_tricks.sliding_window_view(padded, windows)[places]
    known = np.count_nonzero(~np.isnan(future), axis=1)
    whole = places + windows <= len(values)
    return np.where(whole & (3 * known > 2 * windows), row_max(future), np.nan)


def _concat(parts: Sequence[Origins]) -> Origins:
    return Origins(
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in Origins.__dataclass_fields__
            if name != "limits"
        },
        limits={
            name: np.concatenate([part.limits[name] for part in parts]) for name in parts[0].limits
        },
    )


def _take_rows(rows: Origins, chosen: Ints | Booleans) -> Origins:
    return Origins(
        **{
            name: getattr(rows, name)[chosen]
            for name in Origins.__dataclass_fields__
            if name != "limits"
        },
        limits={name: limit[chosen] for name, limit in rows.limits.items()},
    )
