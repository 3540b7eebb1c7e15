"""How long a process has been silent, and from when on that means frozen. Pure: time is an argument.

Only time in which somebody listened counts. When the listener itself was away (the machine slept,
everything was paused), nobody could be heard, and nobody is frozen.
"""

from __future__ import annotations

from dataclasses import dataclass

START_SECONDS = 120.0
"""Patience with a process that has not been ready yet: it loads a model, or reads a long log."""
LATE_SECONDS = 1.0
"""A round of listening that took so much longer than planned says that the listener was away."""


@dataclass(frozen=True, slots=True)
class Sign:
    """What a process told of itself."""

    loop_age_seconds: float
    """Seconds since its event loop last turned."""
    ready: bool
    """Whether it has started: caught up with the log and connected."""


class Silence:
    """One process' silence, round by round; a new one for each start of the process."""

    def __init__(self, patience_seconds: float) -> None:
        """Take a process that was ready for frozen after `patience_seconds` of silence."""
        self._patience_seconds = patience_seconds
        self._heard = self._ready = False
        self.seconds = 0.0
        """How long it has been silent while somebody listened."""

    @property
    def frozen(self) -> bool:
        """Whether it is silent for too long; never before its first sign."""
        limit = self._patience_seconds if self._ready else START_SECONDS
        return self._heard and self.seconds >= limit

    def listen(self, planned_seconds: float, took_seconds: float, sign: Sign | None) -> None:
        """Count one round of listening.

        Args:
            planned_seconds: the longest that the round should have taken.
            took_seconds: how long it took.
            sign: what was heard at its end; None: nothing.
        """
        counted = took_seconds if took_seconds <= planned_seconds + LATE_SECONDS else 0.0
        self.seconds += counted
        if sign is not None:
            self._heard = True
            self._ready = self._ready or sign.ready
            self.seconds = min(self.seconds, max(0.0, sign.loop_age_seconds))
