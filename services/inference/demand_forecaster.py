"""Bands of demand for any series of rates: a trained model beside the simple rules, followed online.

One code for the backtest and for live use: `speak` says what every speaker foretells at many origins of one series at
once, `forecast_all` walks through them as time would, and `DemandForecaster` does one origin after another, with a
state that survives a restart as JSON. Histories go in and bands come out; there is no bus and no clock here.

The model is silent, with its reason, where too little is known; then the rule that lost least so far speaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from features.demand.features import Described, describe
from features.demand.follow import AnyFloats, Follower
from features.demand.past import (
    DAY_SECONDS,
    HOUR_SECONDS,
    QUANTILES,
    STRIDE_SECONDS,
    Ints,
    Origins,
    Past,
    origins_of,
)
from features.demand.rules import RULES, rising, rule_bands, unknown_age
from features.series.quantiles import Floats

MODEL = "model"
SPEAKERS = (MODEL, *RULES)
LEAST_HISTORY_SECONDS = 3 * HOUR_SECONDS
LEAST_KNOWN_STEPS = 4
OLDEST_READING_SECONDS = HOUR_SECONDS
WARM_DAYS = 3
"""A series that is met with a history is followed through so many days of it first."""
LONGEST_DAYS = 15
"""Of a history: what is older does not count."""
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


@dataclass(frozen=True, slots=True)
class DemandBands:
    """One forecast: `quantiles` (horizons, QUANTILES) in the unit of the series, and who made it.

    `model` is a model's name or a rule's; `version` is empty for a rule; `reason` says why no model spoke.
    """

    origin_s: int
    horizons_seconds: tuple[int, ...]
    quantiles: Floats
    models: tuple[str, ...]
    """Who spoke, by horizon."""
    version: str
    reason: str


def speak(model: Numbers | None, past: Past, origins: Origins, since: int = 0) -> Said:
    """Return what every speaker foretells at the origins from place `since` on; those before lend their errors."""
    described = describe(past, origins)
    rules = rule_bands(described.rules, origins, since)
    shape = (*rules.shape[:2], len(SPEAKERS), len(QUANTILES))
    bands = np.zeros(shape, dtype=np.float32)
    bands[:, :, 1:] = np.nan_to_num(rules)
    newest = origins.newest[since:]
    known = past.age_steps(newest) < len(past.values) + 1
    silent = _silent(model, past, newest, origins)
    rows = np.flatnonzero(known & np.array([not reason for reason in silent], dtype=bool))
    if model is not None and len(rows):
        bands[rows, :, 0] = _modelled(model, described, rows + since)
    scale = np.maximum(np.nan_to_num(described.scale[since:]), SMALLEST_SCALE)
    truth = np.where(known[:, None], described.rules.truth[since:], np.nan)
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


@dataclass(slots=True)
class _Issued:
    """A forecast whose outcome is awaited."""

    origin_s: int
    said: NDArray[np.float32]
    scale: Floats
    bands: Floats
    edge: bool
    awaited: list[bool]


class DemandForecaster:
    """Follows series by name; each has the step of the grid that all are on."""

    def __init__(self, model: Numbers | None, step_seconds: int) -> None:
        """Take a model, or None for rules alone, and the length of a step."""
        self._model = model
        self._step = step_seconds
        self._followers: dict[str, Follower] = {}
        self._issued: dict[str, list[_Issued]] = {}

    def forecast(self, series: str, t_s: Ints, values: Floats, origin_s: int) -> DemandBands | None:
        """Return the bands at an origin; None where nothing is known of the series yet.

        Args:
            series: its name, for which calibration is kept.
            t_s: (n,) begins of steps, whole steps apart, in any order; what is newer than the origin is not read.
            values: (n,) NaN where missing.
            origin_s: when the forecast is made.
        """
        past, start_s = self._past(t_s, values, origin_s)
        if past is None:
            return None
        origins = self._origins(start_s, origin_s)
        if series not in self._followers:
            self._warm(series, past, origins)
        said = speak(self._model, past, origins, len(origins) - 1)
        follower = self._followers[series]
        bands, named = bands_of(
            follower, said.bands, said.scale, said.edges, np.array([bool(said.silent[0])])
        )
        self._remember(
            series,
            _Issued(
                origin_s,
                said.bands[0],
                said.scale[0],
                bands[0],
                bool(said.edges[0]),
                [True] * bands.shape[1],
            ),
        )
        return self._described(origins, bands[0], named[0], said.silent[0])

    def observe(self, series: str, t_s: Ints, values: Floats) -> None:
        """Learn from steps that are over: forecasts whose target is among them are scored once."""
        came = dict(zip(t_s.tolist(), values.tolist(), strict=True))
        horizons = origins_of(0, self._step, np.zeros(1, dtype=np.int64)).horizons
        waiting = self._issued.get(series, [])
        for issued in waiting:
            truth = np.full((1, len(horizons)), np.nan)
            for place, ahead in enumerate(horizons):
                target = self._target(issued.origin_s, ahead, t_s)
                if issued.awaited[place] and target in came:
                    truth[0, place] = came[target]
                    issued.awaited[place] = False
            if not np.isnan(truth).all():
                self._followers[series].learn(
                    issued.said[None],
                    issued.bands[None],
                    issued.scale[None],
                    np.full(truth.shape, issued.edge),
                    truth,
                )
        newest = int(t_s.max()) if len(t_s) else 0
        self._issued[series] = [
            one for one in waiting if any(one.awaited) and newest < one.origin_s + DAY_SECONDS
        ]

    def copy(self, model: Numbers | None) -> DemandForecaster:
        """Return a forecaster with a state of its own, and this model."""
        other = DemandForecaster(model, self._step)
        other._followers = deepcopy(self._followers)
        other._issued = deepcopy(self._issued)
        return other

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "step_seconds": self._step,
            "followers": {name: one.as_json() for name, one in sorted(self._followers.items())},
            "issued": {
                name: [
                    {
                        "origin_s": one.origin_s,
                        "said": one.said.tolist(),
                        "scale": one.scale.tolist(),
                        "bands": one.bands.tolist(),
                        "edge": one.edge,
                        "awaited": one.awaited,
                    }
                    for one in waiting
                ]
                for name, waiting in sorted(self._issued.items())
            },
        }

    @classmethod
    def from_json(cls, model: Numbers | None, content: dict[str, Any]) -> DemandForecaster:
        """Return a forecaster that goes on where `as_json` was taken."""
        forecaster = cls(model, int(content["step_seconds"]))
        for name, one in content["followers"].items():
            forecaster._followers[name] = Follower.from_json(one)
        for name, waiting in content["issued"].items():
            forecaster._issued[name] = [
                _Issued(
                    int(one["origin_s"]),
                    np.array(one["said"], dtype=np.float32),
                    np.array(one["scale"], dtype=np.float64),
                    np.array(one["bands"], dtype=np.float64),
                    bool(one["edge"]),
                    list(one["awaited"]),
                )
                for one in waiting
            ]
        return forecaster

    def _past(self, t_s: Ints, values: Floats, origin_s: int) -> tuple[Past | None, int]:
        oldest = origin_s - LONGEST_DAYS * DAY_SECONDS
        kept = (t_s <= origin_s) & (t_s > oldest) & ~np.isnan(values)
        if not kept.any():
            return None, 0
        start_s = int(t_s[kept].min())
        places, off = np.divmod(t_s[kept] - start_s, self._step)
        if off.any():
            remedy = f"give whole steps of {self._step} s between the times of a history"
            raise InputError("t_s", int(t_s[kept][np.argmax(off > 0)]), remedy)
        grid = np.full((origin_s - start_s) // self._step + 1, np.nan)
        grid[places] = values[kept]
        return Past(grid, self._step), start_s

    def _origins(self, start_s: int, origin_s: int) -> Origins:
        stride = max(STRIDE_SECONDS, self._step)
        begin = start_s + (origin_s - start_s) % stride
        times = np.arange(begin, origin_s + 1, stride, dtype=np.int64)
        return origins_of(start_s, self._step, times)

    def _warm(self, series: str, past: Past, origins: Origins) -> None:
        """Follow what came of the last days as if forecasts had been made then."""
        since = max(0, len(origins) - 1 - WARM_DAYS * origins.day)
        said = speak(self._model, past, origins, since)
        self._followers[series] = forecast_all([said])[2]
        self._issued.setdefault(series, [])

    def _remember(self, series: str, issued: _Issued) -> None:
        waiting = self._issued.setdefault(series, [])
        stride = max(STRIDE_SECONDS, self._step)
        if not waiting or issued.origin_s >= waiting[-1].origin_s + stride:
            waiting.append(issued)

    def _target(self, origin_s: int, ahead: int, t_s: Ints) -> int:
        phase = int(t_s[0]) % self._step if len(t_s) else 0
        return (origin_s + ahead - phase) // self._step * self._step + phase

    def _described(self, origins: Origins, bands: Floats, named: Ints, silent: str) -> DemandBands:
        model, version = (self._model.model_id if self._model else "/").split("/")
        names = tuple(model if place == 0 else SPEAKERS[place] for place in named.tolist())
        return DemandBands(
            int(origins.origin_s[-1]),
            origins.horizons,
            bands,
            names,
            "" if silent else version,
            silent,
        )
