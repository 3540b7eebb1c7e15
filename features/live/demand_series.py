"""Demand by the minute of what an observation shows: requests of each Service, cores requested on machines.

A fold of observations and of nothing else, so that whoever reads them, inference or an agent, live or in a re-run,
comes to the same bands. Nodes with equal cores and memory are one group.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from features.live.compressed_text import inflate
from features.live.machine_sizes import requested_cores
from features.series.band_state import ARRAYS, BASES, MINUTES, RULES, BandState, empty_bands
from features.series.bands import forecast_bands, push_minute
from schemas.numbers import rounded
from schemas.prediction import BandTable, DemandBands
from schemas.view import ObservationView
from schemas.work import ServiceCounters

MINUTE_SECONDS = 60.0
HELD_CYCLES = 2
"""Minutes between two observations hold the value before, for at most so many cycles."""
VERSION = 1


class MinuteSums(NamedTuple):
    """The minute that is not over yet."""

    minute: int
    """Which one, since the epoch of cluster time."""
    totals: dict[str, tuple[float, int]]
    """By series sum and number of what was seen in it."""
    requests: dict[str, float]
    """By Service its counted requests so far."""
    seen_seconds: float
    """Cluster time of the newest observation."""


class WholeMinute(NamedTuple):
    """A minute that is over, with the mean of each series in it."""

    minute: int
    means: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class DemandSeries:
    """Everything that is known of demand after an observation."""

    sums: MinuteSums
    state: BandState
    is_new: bool
    """Whether a minute was over with the newest observation."""

    @property
    def bands(self) -> tuple[DemandBands, ...]:
        """Expectation after the newest whole minute, by horizon."""
        return _bands(self.state)


def demand_after(series: DemandSeries | None, view: ObservationView) -> DemandSeries:
    """Return the demand after an observation; one whose signals are missing adds no value."""
    sums, ended = sums_after(None if series is None else series.sums, view)
    state = empty_bands(sums.minute - 1) if series is None else series.state
    for minute, means in ended:
        state = push_minute(state, minute, means)
    return DemandSeries(sums, state, is_new=bool(ended))


def sums_after(
    sums: MinuteSums | None, view: ObservationView
) -> tuple[MinuteSums, tuple[WholeMinute, ...]]:
    """Return the sums after an observation, and the minutes that are over with it, oldest first."""
    now, requests = view.cluster_time_seconds, _requests(view)
    # A rate is that of the time since the look before: its middle says which minute it belongs to.
    minute = math.floor((now - view.interval_seconds / 2.0) / MINUTE_SECONDS)
    if sums is None:
        return MinuteSums(minute, _added({}, requested_cores(view)), requests, now), ()
    if now <= sums.seen_seconds:
        return sums, ()
    samples = _rates(sums, requests, now) | requested_cores(view)
    if minute <= sums.minute:
        return MinuteSums(sums.minute, _added(sums.totals, samples), requests, now), ()
    means = {name: total / count for name, (total, count) in sums.totals.items()}
    last = sums.minute
    if minute - last - 1 <= HELD_CYCLES * view.interval_seconds / MINUTE_SECONDS:
        last = minute - 1  # an observation less than once a minute stands for those between
    ended = tuple(WholeMinute(each, means) for each in range(sums.minute, last + 1))
    return MinuteSums(minute, _added({}, samples), requests, now), ended


def _added(
    totals: Mapping[str, tuple[float, int]], samples: Mapping[str, float]
) -> dict[str, tuple[float, int]]:
    after = dict(totals)
    for name, sample in samples.items():
        total, count = after.get(name, (0.0, 0))
        after[name] = (total + sample, count + 1)
    return after


def _requests(view: ObservationView) -> dict[str, float]:
    counters = () if view.work is None else view.work.services or ()
    return {one.service: _count(one) for one in counters}


def _count(counters: ServiceCounters) -> float:
    return counters.served + counters.failed + counters.lost


def _rates(sums: MinuteSums, requests: Mapping[str, float], now: float) -> dict[str, float]:
    elapsed = now - sums.seen_seconds
    return {
        f"service/{name}": (count - sums.requests[name]) / elapsed
        for name, count in requests.items()
        if count >= sums.requests.get(name, math.inf)  # fewer: they began anew
    }


@lru_cache(maxsize=4)
def _bands(state: BandState) -> tuple[DemandBands, ...]:
    bands = forecast_bands(state)
    rows = np.flatnonzero(~np.isnan(bands.values).any(axis=(1, 2))).tolist()
    if not rows:
        return ()
    return tuple(
        DemandBands(
            horizon_seconds=minutes * MINUTE_SECONDS,
            end_time_seconds=(state.minute + 1 + minutes) * MINUTE_SECONDS,
            series=BandTable(
                ids=tuple(state.ids[row] for row in rows),
                newest=tuple(rounded(value) for value in state.values[rows, -1].tolist()),
                **{
                    name: tuple(
                        rounded(value) for value in bands.values[rows, place, column].tolist()
                    )
                    for column, name in enumerate(("low", "middle", "high"))
                },
                rule=tuple(RULES[rule] for rule in bands.rule[rows, place].tolist()),
                basis=tuple(BASES[basis] for basis in bands.basis[rows, place].tolist()),
            ),
        )
        for place, minutes in enumerate(MINUTES)
    )


def encode_demand(series: DemandSeries | None) -> str | None:
    """Return the demand as text."""
    if series is None:
        return None
    content = {
        "version": VERSION,
        "sums": series.sums,
        "is_new": series.is_new,
        "ids": series.state.ids,
        "newest": series.state.minute,
        "arrays": {
            name: base64.b64encode(getattr(series.state, name).tobytes()).decode()
            for name in ARRAYS
        },
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def decode_demand(text: str | None) -> DemandSeries | None:
    """Return the demand that `encode_demand` made a text of.

    Raises:
        ValueError: it is no such text, or of another version.
    """
    if text is None:
        return None
    try:
        content = json.loads(inflate(text))
        if content["version"] != VERSION:
            raise ValueError("demand of another version")
        ids = tuple(content["ids"])
        arrays = {
            name: _array(content["arrays"][name], form, (len(ids), *shape))
            for name, (form, shape, _) in ARRAYS.items()
        }
        minute, totals, requests, seen_seconds = content["sums"]
        totals = {name: (total, count) for name, (total, count) in totals.items()}
        return DemandSeries(
            sums=MinuteSums(minute, totals, requests, seen_seconds),
            state=BandState(ids, content["newest"], **arrays),
            is_new=content["is_new"],
        )
    except (LookupError, TypeError, RecursionError, AttributeError) as error:
        raise ValueError(f"no demand: {error}") from error


def _array(text: str, form: str, shape: tuple[int, ...]) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=form).reshape(shape)
