"""Tells a frozen process from a live one by how long it has been silent. Pure: time is an argument.

Only rounds in which somebody listened count. When the listener itself was away (the machine slept,
everything was paused), nobody could be heard, and nobody is frozen. Nor does time count in which one of the
two waited for a processor: on a machine that is busy with other work a process is silent for longer.
"""

from __future__ import annotations

from dataclasses import dataclass

START_SECONDS = 600.0
"""Patience with a process that has not been ready yet: it loads a model, or reads a long log."""
LATE_SECONDS = 1.0
"""A round that took this much longer than planned means that the listener was away."""


@dataclass(frozen=True, slots=True)
class LivenessReport:
    """Report of a process about itself."""

    loop_age_seconds: float
    """Seconds since its event loop last turned; infinite when it has not said."""
    ready: bool
    """Whether it has started: caught up with the log and connected."""


class FailureDetector:
    """Decides whether one process is frozen; a new one for each start of the process."""

    def __init__(self, patience_seconds: float) -> None:
        """Count a process that has been ready as frozen after `patience_seconds` of silence."""
        self._patience_seconds = patience_seconds
        self._heard = self._ready = False
        self.seconds = 0.0
        """How long it has been silent while somebody listened."""

    @property
    def frozen(self) -> bool:
        """Whether it has been silent for too long; never before its first report."""
        limit = self._patience_seconds if self._ready else START_SECONDS
        return self._heard and self.seconds >= limit

    def observe(
        self,
        planned_seconds: float,
        elapsed_seconds: float,
        report: LivenessReport | None,
        delayed_seconds: float = 0.0,
    ) -> None:
        """Count one round.

        Args:
            planned_seconds: the longest that the round should have taken.
            elapsed_seconds: how long it took.
            report: what the process answered at its end; None: nothing.
            delayed_seconds: how much of it the process, or the listener, waited for a processor.
        """
        on_time = elapsed_seconds <= planned_seconds + LATE_SECONDS + delayed_seconds
        counted = max(0.0, elapsed_seconds - delayed_seconds) if on_time else 0.0
        self.seconds += counted
        if report is not None:
            self._heard = True
            self._ready = self._ready or report.ready
            self.seconds = min(self.seconds, max(0.0, report.loop_age_seconds))
