"""How long one waits for a child process to get ready or to end: until it is plain that it hangs.

No limit here is one of speed. Pure: time is an argument.
"""

from __future__ import annotations

from bus.processor_time import ProcessorTime

IDLE_SECONDS = 30.0
"""A child that does not get ready and does nothing for so long hangs."""
START_SECONDS = 600.0
"""A child that is not ready after so long never will be, whatever it does."""
IDLE_SHARE = 0.02
"""Whoever uses, or waits for, less of one processor does nothing: an idle program's timers need as much."""
MOST_ROUND_SECONDS = 2.0
"""A round counts for no more: after a longer one it was the waiting process that was away."""


class StartTimeout:
    """Decides whether to wait on for a child that starts."""

    def __init__(self, most_seconds: float = START_SECONDS) -> None:
        """Wait at most so long, not counting what the child waited for a processor."""
        self._most_seconds = most_seconds
        self._seconds = self._idle_seconds = 0.0

    def observe(self, elapsed_seconds: float, time: ProcessorTime) -> str:
        """Count one round; return why the child will not get ready any more, empty to wait on."""
        counted = min(elapsed_seconds, MOST_ROUND_SECONDS)
        self._seconds += max(0.0, counted - time.delayed_seconds)
        idle = time.used_seconds + time.delayed_seconds < IDLE_SHARE * elapsed_seconds
        self._idle_seconds = self._idle_seconds + counted if idle else 0.0
        if self._idle_seconds >= IDLE_SECONDS:
            return f"hung: not ready, and it did nothing for {IDLE_SECONDS:g} s"
        if self._seconds >= self._most_seconds:
            return f"was still busy and not ready after {self._most_seconds:g} s"
        return ""


class StopTimeout:
    """Decides whether to wait on for a child that was told to end."""

    def __init__(self, seconds: float) -> None:
        """Wait so long, not counting what the child waited for a processor."""
        self._left_seconds = seconds

    def observe(self, elapsed_seconds: float, time: ProcessorTime) -> str:
        """Count one round; return why the child will not end by itself, empty to wait on."""
        counted = min(elapsed_seconds, MOST_ROUND_SECONDS)
        self._left_seconds -= max(0.0, counted - time.delayed_seconds)
        return "" if self._left_seconds > 0.0 else "did not end in time"
