"""A Service's demand as Crane's EffectiveHPA would forecast it: from what came so far, made anew twice a day."""

from __future__ import annotations

from random import Random

import numpy as np

from lab.rate_worlds.rate_sets import Floats
from lab.rate_worlds.scaling_ahead.crane_dsp import STEP_SECONDS, forecast_period
from twin.port.files import Recorded

FIT_SECONDS = 12 * 3_600.0


class CraneForecast:
    """The highest value of a repeated period within the window."""

    def __init__(self, history: Floats, traffic: Recorded, start: float, rng: Random) -> None:
        """Begin with a history.

        Args:
            history: (steps of five minutes,) requests a second until the start, without holes.
            traffic: what comes from then on; only what has come is looked at.
            start: cluster time of the first request.
            rng: chance of the test for a period.
        """
        self._history, self._traffic, self._start, self._rng = history, traffic, start, rng
        self._fitted_at = -np.inf
        self._period: Floats | None = None
        self._end = 0.0  # cluster time at which the fitted past ends

    def highest(self, now: float, window_seconds: float) -> float | None:
        """Return the highest forecast rate of the window; None where the past has no period."""
        if now - self._fitted_at >= FIT_SECONDS:
            self._fit(now)
        if self._period is None:
            return None
        first = int((now - self._end) // STEP_SECONDS)
        steps = first + np.arange(int(window_seconds // STEP_SECONDS) + 1)
        return float(self._period[steps % len(self._period)].max())

    def _fit(self, now: float) -> None:
        steps = int((now - self._start) // STEP_SECONDS)
        edges = self._start + np.arange(steps + 1) * STEP_SECONDS
        came = [
            self._traffic.requests(begin, begin + STEP_SECONDS, self._start, lambda _: 0.0)
            / STEP_SECONDS
            for begin in edges[:-1].tolist()
        ]
        self._period = forecast_period(np.concatenate((self._history, np.array(came))), self._rng)
        self._fitted_at, self._end = now, float(edges[-1])
