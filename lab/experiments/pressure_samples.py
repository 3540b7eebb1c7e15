"""How many pods waited in each stretch of a trial, for the report's pressure lanes."""

from __future__ import annotations

import math

MOST_POINTS = 360
"""Of one trial: a point a minute for six hours."""
_DIGITS = 6


class PressureSamples:
    """Means since the last `reset`; times are unix seconds of cluster time."""

    def __init__(self, now: float) -> None:
        """Begin without a point."""
        self.reset(now)

    def reset(self, now: float) -> None:
        """Forget what was."""
        self._began = self._at = now
        self._pod_seconds = 0.0
        self._points: list[tuple[float, float]] = []

    def sample(self, now: float, pod_seconds: float) -> None:
        """Take the pod-seconds waited since the reset; the mean since the last sample becomes a point."""
        passed = now - self._at
        if passed <= 0.0:
            return
        mean = (pod_seconds - self._pod_seconds) / passed
        self._points.append((now - self._began, mean))
        self._at, self._pod_seconds = now, pod_seconds

    def points(self, most: int = MOST_POINTS) -> tuple[tuple[float, float], ...]:
        """Return at most `most` points; more are joined in groups of equal number, each into its mean."""
        group = max(1, math.ceil(len(self._points) / most))
        joined = []
        for first in range(0, len(self._points), group):
            points = self._points[first : first + group]
            mean = math.fsum(value for _, value in points) / len(points)
            joined.append((round(points[-1][0], _DIGITS), round(mean, _DIGITS)))
        return tuple(joined)
