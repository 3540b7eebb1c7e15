"""How many requests a Service gets over time, as its annotation `foresail.dev/traffic` says.

Its forms:

    constant requests_per_second=200
    daily low=50 high=400 peak_hour=14
    bursts base=100 burst=600 every_seconds=1800 last_seconds=120
    recorded rates=0:100,60:140,120:90 repeat_seconds=86400

Rates are requests per second. A daily curve is a cosine of the hour of day (UTC). Bursts come once in each
period, at a moment that is drawn. A recorded rate holds until the next; times are seconds since the start of
the cluster, and it ends in its last rate or, with `repeat_seconds`, begins anew.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from inputs.plain_numbers import parse_number

DAY_SECONDS = 86_400.0
MOST_REQUESTS_PER_SECOND = 1e7
MOST_POINTS = 20_000
RATE_FILE = "file "
"""How a text begins that names a rate file instead (`twin/workloads/rate_file.py`)."""
Draw = Callable[[int], float]
"""From the number of a burst to a uniform draw in [0, 1)."""


class Traffic(Protocol):
    """Requests over time."""

    def requests(self, begin: float, end: float, start: float, draw: Draw) -> float:
        """Return the expected number between two unix times; `start` is that of the cluster."""
        ...


@dataclass(frozen=True, slots=True)
class Constant:
    """The same rate always."""

    requests_per_second: float

    def requests(self, begin: float, end: float, start: float, draw: Draw) -> float:
        """Return rate times time."""
        del start, draw
        return self.requests_per_second * (end - begin)


@dataclass(frozen=True, slots=True)
class Daily:
    """A cosine over the day, highest at `peak_hour`."""

    low: float
    high: float
    peak_hour: float = 14.0

    def requests(self, begin: float, end: float, start: float, draw: Draw) -> float:
        """Return the integral of the curve."""
        del start, draw
        turn = 2.0 * math.pi / DAY_SECONDS
        first, last = (
            turn * math.fmod(time - self.peak_hour * 3_600.0, DAY_SECONDS) for time in (begin, end)
        )
        last += 2.0 * math.pi * round(((end - begin) * turn - (last - first)) / (2.0 * math.pi))
        mean, swing = (self.low + self.high) / 2.0, (self.high - self.low) / 2.0
        return mean * (end - begin) + swing * (math.sin(last) - math.sin(first)) / turn


@dataclass(frozen=True, slots=True)
class Bursts:
    """A base rate, and in each period once a higher one for a while."""

    base: float
    burst: float
    every_seconds: float
    last_seconds: float

    def requests(self, begin: float, end: float, start: float, draw: Draw) -> float:
        """Return the base, and what the bursts between the two times add."""
        first = int((begin - start) // self.every_seconds)
        last = int((end - start) // self.every_seconds)
        seconds = 0.0
        for number in range(first, last + 1):
            spare = self.every_seconds - self.last_seconds
            at = start + number * self.every_seconds + draw(number) * spare
            seconds += max(0.0, min(end, at + self.last_seconds) - max(begin, at))
        return self.base * (end - begin) + (self.burst - self.base) * seconds


@dataclass(frozen=True, slots=True)
class Recorded:
    """Rates that each hold until the next; `sums` are the requests before each time."""

    times: tuple[float, ...]
    rates: tuple[float, ...]
    sums: tuple[float, ...]
    repeat_seconds: float = math.inf

    def requests(self, begin: float, end: float, start: float, draw: Draw) -> float:
        """Return what the record holds between the two times."""
        del draw
        return self._before(end - start) - self._before(begin - start)

    def _before(self, elapsed: float) -> float:
        rounds = 0.0
        if self.repeat_seconds < math.inf:
            rounds, elapsed = divmod(elapsed, self.repeat_seconds)
        return rounds * self._within(self.repeat_seconds) + self._within(elapsed)

    def _within(self, elapsed: float) -> float:
        place = bisect_right(self.times, elapsed) - 1
        if place < 0 or elapsed == math.inf:
            return 0.0
        return self.sums[place] + self.rates[place] * (elapsed - self.times[place])


def recorded(points: Sequence[tuple[float, float]], repeat_seconds: float = math.inf) -> Recorded:
    """Return the traffic of (seconds, requests per second) in order of time.

    Raises ValueError for no point, more than MOST_POINTS, a time that does not rise, a rate below 0, or
    a period that ends before the last time.
    """
    if not points:
        raise ValueError("give at least one time and rate")
    if len(points) > MOST_POINTS:
        raise ValueError(f"{len(points)} rates; give at most {MOST_POINTS}, such as one a minute")
    times = [_amount("a time", time) for time, _ in points]
    rates = [_rate("a rate", rate) for _, rate in points]
    if times[0] != 0.0:
        raise ValueError(f"the first time is {times[0]:g}; begin with time 0")
    for before, after in pairwise(times):
        if after <= before:
            raise ValueError(f"time {after:g} follows {before:g}; give times that rise")
    if repeat_seconds <= times[-1]:
        raise ValueError(f"repeat_seconds is {repeat_seconds:g}; give more than {times[-1]:g}")
    sums = [0.0]
    for place in range(1, len(times)):
        sums.append(sums[-1] + rates[place - 1] * (times[place] - times[place - 1]))
    return Recorded(tuple(times), tuple(rates), tuple(sums), repeat_seconds)


def recorded_text(traffic: Recorded) -> str:
    """Write a recorded rate as an annotation holds it."""
    points = ",".join(f"{time:g}:{rate:g}" for time, rate in
                      zip(traffic.times, traffic.rates, strict=True))  # fmt: skip
    repeats = traffic.repeat_seconds < math.inf
    return f"recorded rates={points}" + (
        f" repeat_seconds={traffic.repeat_seconds:g}" if repeats else ""
    )


def read_traffic(text: str) -> Traffic:
    """Read an annotation; raises ValueError with a sentence that says what to give instead."""
    kind, *rest = text.split()[:8] or [""]
    if kind not in _FIELDS:
        raise ValueError(f"{kind!r} is no kind of traffic; give one of {', '.join(_FIELDS)}")
    given = _fields(kind, rest)
    if kind == "recorded":
        points = [_point(part) for part in given["rates"].split(",")[: MOST_POINTS + 1]]
        repeat = given.get("repeat_seconds")
        return recorded(points, math.inf if repeat is None else _time("repeat_seconds", repeat))
    if kind == "constant":
        return Constant(_rate("requests_per_second", given["requests_per_second"]))
    if kind == "daily":
        peak = _amount("peak_hour", given.get("peak_hour", "14"))
        if peak >= 24.0:
            raise ValueError(f"peak_hour is {peak:g}; give an hour from 0 to below 24")
        return Daily(_rate("low", given["low"]), _rate("high", given["high"]), peak)
    bursts = Bursts(
        _rate("base", given["base"]),
        _rate("burst", given["burst"]),
        _time("every_seconds", given["every_seconds"]),
        _time("last_seconds", given["last_seconds"]),
    )
    if bursts.last_seconds > bursts.every_seconds:
        raise ValueError("last_seconds is more than every_seconds; give bursts that end")
    return bursts


_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "constant": (("requests_per_second",), ()),
    "daily": (("low", "high"), ("peak_hour",)),
    "bursts": (("base", "burst", "every_seconds", "last_seconds"), ()),
    "recorded": (("rates",), ("repeat_seconds",)),
}
"""Fields of each kind: those needed, and those that have a default."""


def _fields(kind: str, parts: Sequence[str]) -> dict[str, str]:
    needed, others = _FIELDS[kind]
    found = {}
    for part in parts:
        name, _, value = part.partition("=")
        if name not in (*needed, *others):
            raise ValueError(
                f"{name[:80]!r} is unknown to {kind}; it takes {', '.join((*needed, *others))}"
            )
        found[name] = value
    missing = [name for name in needed if name not in found]
    if missing:
        raise ValueError(f"{kind} lacks {missing[0]}; write {kind} {missing[0]}=NUMBER")
    return found


def _point(text: str) -> tuple[float, float]:
    time, _, rate = text.partition(":")
    return _amount("a time", time), _rate("a rate", rate)


def _rate(name: str, given: str | float) -> float:
    value = _amount(name, given)
    if value > MOST_REQUESTS_PER_SECOND:
        raise ValueError(f"{name} is {value:g}; give at most {MOST_REQUESTS_PER_SECOND:g}")
    return value


def _time(name: str, given: str | float) -> float:
    value = _amount(name, given)
    if value < 1.0:
        raise ValueError(f"{name} is {value:g}; give at least 1 second")
    return value


def _amount(name: str, given: str | float) -> float:
    try:
        value = parse_number(given) if isinstance(given, str) else float(given)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0.0:
        raise ValueError(f"{name} is {str(given)[:80]!r}; give a number of 0 or more")
    return value
