"""How many requests a process sends an API server at most, however much it would like to know."""

from __future__ import annotations

from bus.clock import Clock

REQUESTS_A_SECOND = 50.0
BURST = 100
"""As kubectl allows itself a second, and a third of its burst; a cycle takes a few requests, a plan some dozens."""


class RequestRate:
    """A token bucket: `burst` requests at once, then so many a second, in the order in which they came."""

    def __init__(
        self, clock: Clock, per_second: float = REQUESTS_A_SECOND, burst: int = BURST
    ) -> None:
        """Begin with a full bucket."""
        self._clock, self._per_second, self._burst = clock, per_second, burst
        self._free_seconds = 0.0
        """Monotonic time at which the bucket would be full again, were nothing more asked for."""

    async def wait(self) -> None:
        """Take a token; sleeps until there is one."""
        now = self._clock.monotonic()
        each = 1.0 / self._per_second
        self._free_seconds = max(self._free_seconds, now) + each
        wait_seconds = self._free_seconds - now - self._burst * each
        if wait_seconds > 0:
            await self._clock.sleep(wait_seconds)
