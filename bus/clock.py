"""Time as an input: the machine's clock, one that is told, and one of an event loop, which may be virtual."""

from __future__ import annotations

import asyncio

from inputs.clock import Clock, ManualClock, SystemClock

__all__ = ["Clock", "LoopClock", "ManualClock", "SystemClock"]


class LoopClock:
    """The running event loop's clock; under `bus.virtual_loop` that is virtual time."""

    def __init__(self, start_wall_ns: int) -> None:
        """Count wall time from `start_wall_ns` at the loop's time 0."""
        self._start_wall_ns = start_wall_ns

    def wall_ns(self) -> int:
        """Return nanoseconds since the Unix epoch."""
        return self._start_wall_ns + round(self.monotonic() * 1e9)

    def monotonic(self) -> float:
        """Return the loop's seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
