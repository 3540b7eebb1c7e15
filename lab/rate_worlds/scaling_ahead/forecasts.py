"""What an autoscaler of an experiment takes for the demand to come."""

from __future__ import annotations

from random import Random
from typing import Protocol

import numpy as np

from lab.rate_worlds.rate_sets import DAY
from twin.port.files import Recorded

HOUR = 3_600.0
STEP_SECONDS = 60.0


class Forecast(Protocol):
    """Somebody's idea of one Service's requests."""

    def highest(self, now: float, window_seconds: float) -> float | None:
        """Return the highest rate (requests a second) from a moment of cluster time on; None: nobody knows."""
        ...


class Truth:
    """The rates that will come."""

    def __init__(self, traffic: Recorded, start: float) -> None:
        """Know a course that begins at a moment of cluster time."""
        self._traffic, self._start = traffic, start

    def highest(self, now: float, window_seconds: float) -> float | None:
        """Return the highest mean of a minute."""
        edges = now + np.arange(0.0, window_seconds + STEP_SECONDS, STEP_SECONDS)
        pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        return (
            max(self._traffic.requests(begin, end, self._start, _no_draw) for begin, end in pairs)
            / STEP_SECONDS
        )


class Shuffled:
    """Another's forecasts, each hour of the day with those of another hour."""

    def __init__(self, forecast: Forecast, rng: Random) -> None:
        """Draw which hour stands for which."""
        self._forecast = forecast
        self._hours = list(range(24))
        rng.shuffle(self._hours)

    def highest(self, now: float, window_seconds: float) -> float | None:
        """Return what the other says of the hour that stands for this one, on the same day."""
        day, second = divmod(now, DAY)
        hour, rest = divmod(second, HOUR)
        moment = day * DAY + self._hours[int(hour)] * HOUR + rest
        return self._forecast.highest(moment, window_seconds)


def _no_draw(number: int) -> float:
    raise AssertionError(f"recorded rates draw nothing ({number})")
