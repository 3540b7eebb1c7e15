"""Who foretells demand: a trained model beside the simple rules, mixed and calibrated as time goes.

`speak` says what every speaker foretells at many origins of one series at once, and `forecast_all` walks through them
as time would. Histories go in and bands come out; there is no bus and no clock here.

The model is silent, with its reason, where too little is known; then the rule that lost least so far speaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from features.demand.features import Described, describe
from features.demand.follow import AnyFloats, Follower
from features.demand.past import (
    DAY_SECONDS,
    HOUR_SECONDS,
    QUANTILES,
    Ints,
    Origins,
    Past,
)
from features.demand.rules import RULES, rising, rule_bands, unknown_age
from features.series.quantiles import Floats

MODEL = "model"
SPEAKERS = (MODEL, *RULES)
LEAST_HISTORY_SECONDS = 3 * HOUR_SECONDS
LEAST_KNOWN_STEPS = 4
OLDEST_READING_SECONDS = HOUR_SECONDS
RULE_WEIGHT = 0.05
"""Of a rule against the model's, at equal losses."""
SMALLEST_SCALE = 1e-9


class Numbers(Protocol):
    """A trained model: rows of features in, its numbers out."""

    model_id: str

    def numbers(self, rows: NDArray[np.float32]) -> Floats:
        """Return (rows, QUANTILES) for (rows, features)."""
        ...


@dataclass(frozen=True, slots=True)
class Said:
    """What every speaker foretells for n origins of one series.

    `bands` (n, horizons, SPEAKERS, QUANTILES); `scale` (n, horizons); `truth` (n, horizons), NaN where not known;
    `edges` (n,) whether the origin is on a rising edge; `silent` (n,) why the model says nothing, "" where it speaks;
    `known` (n,) whether anything can be said.
    """

    origins: Origins
    bands: NDArray[np.float32]
    scale: Floats
    truth: Floats
    edges: NDArray[np.bool_]
    silent: tuple[str, ...]
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        """Return the number of origins."""
        return len(self.bands)


def speak(model: Numbers | None, past: Past, origins: Origins, since: int = 0) -> Said:
    """Return what every speaker foretells at the origins from place `since` on; those before lend their errors."""
    described = describe(past, origins, since)
    rules = rule_bands(described.rules, origins, since)
    return said_by(model, past, origins.some(slice(since, None)), described, rules)


def said_by(
    model: Numbers | None, past: Past, origins: Origins, described: Described, rules: Floats
) -> Said:
    """Return what every speaker foretells, row by row, from the features and the bands of the rules."""
    shape = (*rules.shape[:2], len(SPEAKERS), len(QUANTILES))
    bands = np.zeros(shape, dtype=np.float32)
    bands[:, :, 1:] = np.nan_to_num(rules)
    newest = origins.newest
    known = past.age_steps(newest) < past.length + 1
    silent = _silent(model, past, newest, origins)
    rows = np.flatnonzero(known & np.array([not reason for reason in silent], dtype=bool))
    if model is not None and len(rows):
        bands[rows, :, 0] = _modelled(model, described, rows)
    scale = np.maximum(np.nan_to_num(described.scale), SMALLEST_SCALE)
    truth = described.rules.truth[len(described.rules.truth) - len(scale) :]
    truth = np.where(known[:, None], truth, np.nan)
    return Said(origins, bands, scale, truth, rising(past, newest), silent, known)


def _modelled(model: Numbers, described: Described, rows: Ints) -> Floats:
    matrix = described.features[rows]
    flat = np.ascontiguousarray(matrix.reshape(-1, matrix.shape[-1]))
    numbers = np.sort(model.numbers(flat), axis=1).reshape(*matrix.shape[:2], len(QUANTILES))
    base, scale = described.base[rows, :, None], described.scale[rows, :, None]
    return np.maximum(base + numbers * scale, 0.0)


def _silent(model: Numbers | None, past: Past, newest: Ints, origins: Origins) -> tuple[str, ...]:
    if model is None:
        return ("no model",) * len(newest)
    step = origins.step_seconds
    counted = past.known(newest, past.steps(DAY_SECONDS))
    wanted = max(LEAST_HISTORY_SECONDS // step, LEAST_KNOWN_STEPS)
    ages = unknown_age(past, newest)
    reasons = []
    for known, age in zip(counted.tolist(), ages.tolist(), strict=True):
        reason = ""
        if known < wanted:
            reason = f"history too short: {known} of {wanted} steps known in the last day"
        elif age > max(OLDEST_READING_SECONDS, 2 * step):
            reason = f"newest reading {age / 60:.0f} min old"
        reasons.append(reason)
    return tuple(reasons)


def speaker_weights(silent: NDArray[np.bool_], horizons: int) -> Floats:
    """Return (series, horizons, SPEAKERS) weights before anything was seen; 0 for a silent model."""
    weights = np.full((len(silent), horizons, len(SPEAKERS)), RULE_WEIGHT)
    weights[:, :, 0] = np.where(silent, 0.0, 1.0)[:, None]
    return weights


def bands_of(
    follower: Follower,
    said: AnyFloats,
    scale: Floats,
    edge: NDArray[np.bool_],
    silent: NDArray[np.bool_],
) -> tuple[Floats, NDArray[np.int64]]:
    """Return bands (series, horizons, QUANTILES) and the place of who is named for them (series, horizons).

    A mixture is named after the model; where that is silent the best rule alone speaks.
    """
    weights = speaker_weights(silent, scale.shape[1])
    best = np.argmax(follower.weights(weights), axis=-1)
    alone = np.eye(len(SPEAKERS))[best]
    quiet = silent[:, None, None]
    on_edge = np.repeat(edge[:, None], scale.shape[1], axis=1)
    bands = follower.bands(said, scale, np.where(quiet, alone, weights), on_edge)
    named = np.where(quiet[:, :, 0], best, 0)
    return bands, named


def forecast_all(
    many: Sequence[Said],
) -> tuple[NDArray[np.float32], NDArray[np.int64], Follower]:
    """Return bands (series, origins, horizons, QUANTILES) and names for series of the same horizons, as time goes.

    Series are walked through side by side, each from its own first origin; none learns from another.
    """
    horizons, wait = many[0].scale.shape[1], many[0].origins.wait
    longest = max(len(said) for said in many)
    follower = Follower.new(len(many), horizons, len(SPEAKERS))
    bands = np.zeros((len(many), longest, horizons, len(QUANTILES)), dtype=np.float32)
    named = np.zeros((len(many), longest, horizons), dtype=np.int64)
    said = _padded([one.bands for one in many], longest, 0.0)
    scale = _padded([one.scale for one in many], longest, 1.0)
    truth = _padded([one.truth for one in many], longest, np.nan)
    silent = _padded(
        [np.array([bool(reason) for reason in one.silent]) for one in many], longest, True
    )
    edges = _padded([one.edges for one in many], longest, False)
    each = np.arange(horizons)
    for place in range(longest):
        then = np.maximum(place - wait, 0)
        came = np.where(place >= wait, truth[:, then, each], np.nan)
        if not np.isnan(came).all():
            follower.learn(
                said[:, then, each],
                bands[:, then, each],
                scale[:, then, each],
                edges[:, then],
                came,
            )
        bands[:, place], named[:, place] = bands_of(
            follower, said[:, place], scale[:, place], edges[:, place], silent[:, place]
        )
    return bands, named, follower


def _padded(arrays: Sequence[NDArray[Any]], length: int, fill: float) -> NDArray[Any]:
    result = np.full((len(arrays), length, *arrays[0].shape[1:]), fill, dtype=arrays[0].dtype)
    for row, array in enumerate(arrays):
        result[row, : len(array)] = array
    return result
