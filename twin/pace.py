"""How fast cluster time passes: paused, N times as fast as wall time, or as fast as possible.

The pace can be changed at any moment and decides only when something happens in wall time, never
what. No advance takes much longer than CHUNK_SECONDS of wall time, so that requests are answered
in between however fast time passes; a cluster that cannot keep up falls behind instead.
"""

from __future__ import annotations

import math

from inputs.clock import Clock

CHUNK_SECONDS = 0.05
"""Wall seconds that one advance may take."""
GIVE_WAY_SECONDS = 0.01
"""Wall seconds that requests have to themselves between two advances of a busy engine."""
_FIRST_CHUNK, _LEAST_CHUNK, _LONGEST_CHUNK = 1.0, 0.001, 3_600.0  # cluster seconds


class Pace:
    """Says how far the engine may go now."""

    def __init__(self, clock: Clock, speed: float, now: float) -> None:
        """Begin at cluster time `now` with `speed` cluster seconds a wall second; inf: no limit."""
        self._clock = clock
        self.speed = speed
        self.paused = False
        self.behind = False
        """Whether the newest advance was cut short, so that the next is due at once."""
        self.asked = False
        """Whether a request has come since the last advance."""
        self._began = (now, clock.monotonic())
        self._step_until = -math.inf
        self._chunk = _FIRST_CHUNK
        self._advancing_since = 0.0

    def change(self, now: float, *, speed: float | None = None, paused: bool | None = None) -> None:
        """Continue from cluster time `now` at another speed, or pause."""
        self.speed = self.speed if speed is None else speed
        self.paused = self.paused if paused is None else paused
        self._step_until = -math.inf
        self._began = (now, self._clock.monotonic())

    def step(self, now: float, seconds: float) -> float:
        """Let so much cluster time pass at once, then pause; return when that is."""
        self.change(now, paused=True)
        self._step_until = now + seconds
        return self._step_until

    def until(self, now: float) -> float:
        """Return how far the next advance may go; `now` when it has to wait."""
        if self.paused:
            target = self._step_until
        elif math.isinf(self.speed):
            target = math.inf
        else:
            cluster, wall = self._began
            target = cluster + (self._clock.monotonic() - wall) * self.speed
        self.behind = target > now + self._chunk
        return max(now, min(target, now + self._chunk))

    def begin_advance(self) -> None:
        """Note that an advance begins."""
        self._advancing_since = self._clock.monotonic()

    def end_advance(self, advanced_seconds: float) -> None:
        """Note that it ended after so many cluster seconds, and choose the next one's length."""
        took = max(self._clock.monotonic() - self._advancing_since, 1e-6)
        if advanced_seconds >= 0.9 * self._chunk or took > CHUNK_SECONDS:
            fitting = advanced_seconds * CHUNK_SECONDS / took
            grown = min(fitting, 2.0 * self._chunk)
            self._chunk = min(max(grown, _LEAST_CHUNK), _LONGEST_CHUNK)

    def rest_seconds(self, slice_seconds: float) -> float:
        """Return how long to wait before the next advance: none when it is due, unless a request
        came since the last, which would wait as long as an advance takes.
        """
        was_asked, self.asked = self.asked, False
        if not self.behind:
            return slice_seconds
        return GIVE_WAY_SECONDS if was_asked else 0.0

    def ahead_seconds(self, wall_seconds: float) -> float:
        """Return the cluster seconds that may pass in so much wall time, for time marks."""
        if self.paused or math.isinf(self.speed):
            return self._chunk * max(1.0, wall_seconds / CHUNK_SECONDS)
        return self.speed * wall_seconds
