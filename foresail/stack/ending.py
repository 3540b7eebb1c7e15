"""When a run has seen as many cycles as it was to see (`--max-cycles`), and when its last one is answered."""

from __future__ import annotations

from bus.clock import Clock
from foresail.stack.watch import Watch

PAUSE_SECONDS = 0.05
SETTLE_SECONDS = 5.0
"""The last cycle, open when the collector stopped, is not waited for once nothing was stored for so long."""
MOST_SETTLE_SECONDS = 120.0
QUIET_SECONDS = 0.7
"""The log is taken to be at its end when nothing was stored for so long."""


async def wait_for_cycles(watch: Watch, clock: Clock, most: int | None) -> None:
    """Return once so many cycles were observed and answered; never where there is no limit."""
    while most is None or watch.totals.cycles < most or not _is_answered(watch, most):
        await clock.sleep(PAUSE_SECONDS if most is not None else 3_600.0)


def _is_answered(watch: Watch, cycle: int) -> bool:
    """Say whether the decision of the newest cycle that counts was executed or refused."""
    return watch.overview.cycles.newest_executed >= cycle


async def settle(watch: Watch, clock: Clock) -> None:
    """Wait until the newest observed cycle has its outcome, or the log stays quiet for longer."""
    began = stored = clock.monotonic()
    while stored - began < MOST_SETTLE_SECONDS:
        overview = watch.overview
        observed = -1 if overview.observation is None else overview.observation.cycle
        done = overview.cycles.newest_executed
        before = watch.seq
        await clock.sleep(QUIET_SECONDS)
        now = clock.monotonic()
        if watch.seq != before:
            stored = now
        elif done >= observed or now - stored >= SETTLE_SECONDS:
            return
