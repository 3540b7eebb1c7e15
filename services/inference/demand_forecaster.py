"""Bands of demand for many series live: what the backtest's walk says, one origin after another.

All series of a step are foretold together. Their calibration is a state that survives a restart as JSON; what else is
carried from origin to origin only saves time (`features/demand/together.py`). Histories go in and bands come out;
there is no bus and no clock here.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from features.demand.follow import STATE, Follower
from features.demand.past import DAY_SECONDS, STRIDE_SECONDS, Ints, Past, origins_of
from features.demand.together import Together
from features.demand.walks import Followed
from features.series.quantiles import Floats
from services.inference.speakers import SPEAKERS, Numbers, bands_of, forecast_all, said_by, speak

WARM_DAYS = 3
"""A series that is met with a history is followed through so many days of it first."""
LONGEST_DAYS = 14
"""Of a history: what is older does not count."""
WARM_TOGETHER = 50
"""Series that are warmed side by side: a hundred megabytes."""
_FORECAST = ("said", "scale", "bands")


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


@dataclass(frozen=True, slots=True)
class _Issued:
    """A forecast whose outcome is awaited."""

    origin_s: int
    said: NDArray[np.float32]
    scale: Floats
    bands: Floats
    edge: bool
    awaited: tuple[bool, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "origin_s": self.origin_s,
            "said": self.said.tolist(),
            "scale": self.scale.tolist(),
            "bands": self.bands.tolist(),
            "edge": self.edge,
            "awaited": list(self.awaited),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> _Issued:
        """Return what `as_json` made this of."""
        return cls(
            int(content["origin_s"]),
            np.array(content["said"], dtype=np.float32),
            np.array(content["scale"], dtype=np.float64),
            np.array(content["bands"], dtype=np.float64),
            bool(content["edge"]),
            tuple(content["awaited"]),
        )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of a forecast: `truth` (horizons,), NaN where nothing did."""

    series: str
    issued: _Issued
    truth: Floats
    awaited: tuple[bool, ...]
    """By horizon whether it is not over yet."""

    @classmethod
    def of(cls, series: str, issued: _Issued, came: Sequence[float | None]) -> _Outcome:
        """Return it; None in `came`: not over."""
        awaited = tuple(
            one and value is None for one, value in zip(issued.awaited, came, strict=True)
        )
        truth = np.array([np.nan if value is None else value for value in came])
        return cls(series, issued, truth, awaited)

    def still_awaited(self) -> _Issued:
        """Return the forecast without what is not waited for any more."""
        if self.awaited == self.issued.awaited:
            return self.issued
        kept = np.array(self.awaited)
        return replace(
            self.issued,
            said=np.where(kept[:, None, None], self.issued.said, np.float32(0.0)),
            scale=np.where(kept, self.issued.scale, 1.0),
            bands=np.where(kept[:, None], self.issued.bands, 0.0),
            awaited=self.awaited,
        )


class DemandForecaster:
    """Follows series by name; each has the step of the grid that all are on."""

    def __init__(self, model: Numbers | None, step_seconds: int) -> None:
        """Take a model, or None for rules alone, and the length of a step."""
        self._model = model
        self._step = step_seconds
        self._horizons = origins_of(0, step_seconds, np.zeros(1, dtype=np.int64)).horizons
        self._followers: dict[str, Follower] = {}
        self._issued: dict[str, list[_Issued]] = {}
        self._together = Together(step_seconds)

    def forecast(self, series: str, t_s: Ints, values: Floats, origin_s: int) -> DemandBands | None:
        """Return the bands of one series at an origin; None where nothing is known of it yet."""
        return self.forecast_many([series], t_s, values[None], origin_s)[0]

    def forecast_many(
        self, names: Sequence[str], t_s: Ints, values: Floats, origin_s: int
    ) -> list[DemandBands | None]:
        """Return the bands of series at an origin; None where nothing is known of one yet.

        Args:
            names: of the series, for which calibration is kept; each once.
            t_s: (n,) begins of steps, whole steps apart, in any order; what is newer than the origin is not read.
            values: (series, n) NaN where missing.
            origin_s: when the forecast is made.

        Raises:
            InputError: the times are not whole steps apart.
        """
        result: list[DemandBands | None] = [None] * len(names)
        followed, some = self._followed(names, t_s, values, origin_s)
        told = [names[place] for place in some]
        self._warm(told, followed)
        for place, bands in zip(some, self._foretell(told, followed), strict=True):
            result[place] = bands
        return result

    def prepare(self, names: Sequence[str], t_s: Ints, values: Floats, origin_s: int) -> None:
        """Do what of `forecast_many` at an origin to come can be done before its step is over; changes no number."""
        followed, some = self._followed(names, t_s, values, origin_s)
        self._together.prepare([names[place] for place in some], followed)

    def late(self, names: Sequence[str], origin_s: int) -> list[str]:
        """Return the series foretold before that are not prepared for an origin."""
        return self._together.late(names, origin_s)

    def observe(self, series: str, t_s: Ints, values: Floats) -> None:
        """Learn from steps of one series that are over."""
        self.observe_many([series], t_s, values[None])

    def observe_many(self, names: Sequence[str], t_s: Ints, values: Floats) -> None:
        """Learn from steps that are over: forecasts whose target is among them are scored once.

        Args:
            names: of the series.
            t_s: (n,) begins of the steps.
            values: (series, n) NaN where missing.
        """
        places = {time: place for place, time in enumerate(t_s.tolist())}
        phase = int(t_s[0]) % self._step if len(t_s) else 0
        newest = int(t_s.max()) if len(t_s) else 0
        rounds: list[list[_Outcome]] = []
        for name, came in zip(names, values.tolist(), strict=True):
            outcomes = [
                _Outcome.of(name, issued, self._came(issued, places, phase, came))
                for issued in self._issued.get(name, ())
            ]
            known = (one for one in outcomes if not np.isnan(one.truth).all())
            for turn, outcome in enumerate(known):
                rounds += [[]] if turn == len(rounds) else []
                rounds[turn].append(outcome)
            self._issued[name] = [
                one.still_awaited()
                for one in outcomes
                if any(one.awaited) and newest < one.issued.origin_s + DAY_SECONDS
            ]
        for outcomes in rounds:
            self._learn(outcomes)

    def copy(self, model: Numbers | None) -> DemandForecaster:
        """Return a forecaster with a state of its own, and this model."""
        other = DemandForecaster(model, self._step)
        other._followers = dict(self._followers)
        other._issued = dict(self._issued)
        other._together = self._together
        return other

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {
            "step_seconds": self._step,
            "followers": {name: one.as_json() for name, one in sorted(self._followers.items())},
            "issued": {
                name: [one.as_json() for one in waiting]
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
            forecaster._issued[name] = [_Issued.from_json(one) for one in waiting]
        return forecaster

    def as_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays, the forecasts of all series one after another: a tenth of its JSON."""
        names = sorted(self._followers)
        issued = [
            (row, one) for row, name in enumerate(names) for one in self._issued.get(name, ())
        ]
        awaited = np.array([one.awaited for _, one in issued], dtype=bool)
        arrays = {
            "step_seconds": np.array(self._step),
            "names": np.array(names, dtype=np.str_),
            "rows": np.array([row for row, _ in issued], dtype=np.int64),
            "origin_s": np.array([one.origin_s for _, one in issued], dtype=np.int64),
            "edge": np.array([one.edge for _, one in issued], dtype=bool),
            "awaited": awaited,
        }
        if names:
            stacked = Follower.stacked([self._followers[name] for name in names])
            arrays |= {name: getattr(stacked, name) for name in STATE}
        if issued:
            for name in _FORECAST:
                arrays[name] = np.stack([getattr(one, name) for _, one in issued])[awaited]
        return arrays

    @classmethod
    def from_arrays(
        cls, model: Numbers | None, arrays: Mapping[str, NDArray[Any]]
    ) -> DemandForecaster:
        """Return a forecaster that goes on where `as_arrays` was taken."""
        forecaster = cls(model, int(arrays["step_seconds"]))
        names, awaited = arrays["names"].tolist(), arrays["awaited"]
        if names:
            follower = Follower(*(arrays[name] for name in STATE))
            for row, name in enumerate(names):
                forecaster._followers[name] = follower.one(row)
                forecaster._issued[name] = []
        whole = {}
        for name in _FORECAST if len(awaited) else ():
            kept = arrays[name]
            # What is not waited for is as `_Outcome.still_awaited` leaves it.
            whole[name] = np.full((*awaited.shape, *kept.shape[1:]), name == "scale", kept.dtype)
            whole[name][awaited] = kept
        for place, row in enumerate(arrays["rows"].tolist()):
            said, scale, bands = (whole[name][place] for name in _FORECAST)
            issued = _Issued(
                int(arrays["origin_s"][place]),
                said,
                scale,
                bands,
                bool(arrays["edge"][place]),
                tuple(awaited[place].tolist()),
            )
            forecaster._issued[names[row]].append(issued)
        return forecaster

    def _followed(
        self, names: Sequence[str], t_s: Ints, values: Floats, origin_s: int
    ) -> tuple[Followed, list[int]]:
        """Return the series of which something is known, on one grid that ends at the origin, and their places."""
        begins = np.array([oldest_counted(name, origin_s, self._step) for name in names])
        counted = (t_s <= origin_s) & (t_s >= begins[:, None]) & ~np.isnan(values)
        kept = np.flatnonzero(counted.any(axis=0))
        start_s = int(t_s[kept].min()) if len(kept) else origin_s
        places, off = np.divmod(t_s[kept] - start_s, self._step)
        if off.any():
            remedy = f"give whole steps of {self._step} s between the times of a history"
            raise InputError("t_s", int(t_s[kept][np.argmax(off > 0)]), remedy)
        some = np.flatnonzero(counted.any(axis=1))
        grid = np.full((len(some), (origin_s - start_s) // self._step + 1), np.nan)
        grid[:, places] = np.where(counted, values, np.nan)[np.ix_(some, kept)]
        past = Past(grid, self._step, np.arange(len(some)))
        first = (~np.isnan(grid)).argmax(axis=1)
        return Followed(past, first, start_s, self._step, origin_s), some.tolist()

    def _warm(self, names: Sequence[str], followed: Followed) -> None:
        """Follow what came of the last days of new series as if forecasts had been made then."""
        new = [place for place, name in enumerate(names) if name not in self._followers]
        for begin in range(0, len(new), WARM_TOGETHER):
            places = new[begin : begin + WARM_TOGETHER]
            walks = []
            for place in places:
                past, origins = followed.one(place)
                since = max(0, len(origins) - 1 - WARM_DAYS * origins.day)
                walks.append(speak(self._model, past, origins, since))
            follower = forecast_all(walks)[2]
            for row, place in enumerate(places):
                self._followers[names[place]] = follower.one(row)

    def _foretell(self, names: Sequence[str], followed: Followed) -> list[DemandBands]:
        if not names:
            return []
        described, rules = self._together.describe(names, followed)
        origins = followed.origins()
        said = said_by(self._model, followed.past, origins, described, rules)
        follower = Follower.stacked([self._followers[name] for name in names])
        silent = np.array([bool(reason) for reason in said.silent])
        bands, named = bands_of(follower, said.bands, said.scale, said.edges, silent)
        edges = said.edges.tolist()
        awaited = (True,) * len(self._horizons)
        for place, name in enumerate(names):
            row = said.bands[place], said.scale[place], bands[place], edges[place]
            self._remember(name, _Issued(followed.origin_s, *row, awaited))
        return [
            self._described(followed.origin_s, bands[place], named[place], said.silent[place])
            for place in range(len(names))
        ]

    def _remember(self, series: str, issued: _Issued) -> None:
        waiting = self._issued.get(series, [])
        stride = max(STRIDE_SECONDS, self._step)
        if not waiting or issued.origin_s >= waiting[-1].origin_s + stride:
            waiting = [*waiting, issued]
        self._issued[series] = waiting

    def _came(
        self, issued: _Issued, places: dict[int, int], phase: int, came: list[float]
    ) -> list[float | None]:
        """Return by horizon what came of a forecast; None where it is not awaited or not over."""
        result: list[float | None] = []
        for ahead, awaited in zip(self._horizons, issued.awaited, strict=True):
            target = (issued.origin_s + ahead - phase) // self._step * self._step + phase
            result.append(came[places[target]] if awaited and target in places else None)
        return result

    def _learn(self, outcomes: Sequence[_Outcome]) -> None:
        """Take what came of forecasts of as many series, one each."""
        follower = Follower.stacked([self._followers[one.series] for one in outcomes])
        truth = np.stack([one.truth for one in outcomes])
        edges = np.array([one.issued.edge for one in outcomes])
        follower.learn(
            np.stack([one.issued.said for one in outcomes]),
            np.stack([one.issued.bands for one in outcomes]),
            np.stack([one.issued.scale for one in outcomes]),
            np.repeat(edges[:, None], truth.shape[1], axis=1),
            truth,
        )
        for row, one in enumerate(outcomes):
            self._followers[one.series] = follower.one(row)

    def _described(self, origin_s: int, bands: Floats, named: Ints, silent: str) -> DemandBands:
        model, version = (self._model.model_id if self._model else "/").split("/")
        names = tuple(model if place == 0 else SPEAKERS[place] for place in named.tolist())
        return DemandBands(
            origin_s, self._horizons, bands, names, "" if silent else version, silent
        )


def oldest_counted(series: str, origin_s: int, step_seconds: int) -> int:
    """Return from when on a history counts: thirteen days and up to a fourteenth.

    It moves once a day, as what is carried from origin to origin begins anew then, and of each series at a time of its
    own, so that not all begin anew together.
    """
    shift = zlib.crc32(series.encode()) % DAY_SECONDS // step_seconds * step_seconds
    return (
        (origin_s - shift) // DAY_SECONDS * DAY_SECONDS + shift - (LONGEST_DAYS - 1) * DAY_SECONDS
    )
