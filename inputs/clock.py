"""Time as an input: the only file that reads the machine's clock."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Wall time, for pacing, deadlines and time-outs only; cluster time travels in events."""

    def wall_ns(self) -> int:
        """Return nanoseconds since the Unix epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def wall_ns(self) -> int:
        """Return nanoseconds since the Unix epoch."""
        return time.time_ns()

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


class ManualClock:
    """A clock that moves only when told; for tests without a virtual loop."""

    def __init__(self, wall_ns: int = 0) -> None:
        """Begin at `wall_ns`."""
        self._wall_ns = wall_ns
        self._monotonic = 0.0

    def wall_ns(self) -> int:
        """Return nanoseconds since the Unix epoch."""
        return self._wall_ns

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Move on at once."""
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move on."""
        self._monotonic += seconds
        self._wall_ns += round(seconds * 1e9)
