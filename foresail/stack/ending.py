"""`--max-cycles`: when a run has seen as many cycles as it was to see."""

from __future__ import annotations

from bus.clock import Clock
from foresail.stack.watch import Watch

PAUSE_SECONDS = 0.05


async def wait_for_cycles(watch: Watch, clock: Clock, most: int | None) -> None:
    """Return once so many cycles were observed and answered; never where there is no limit."""
    while most is None or watch.totals.cycles < most or not _is_answered(watch, most):
        await clock.sleep(PAUSE_SECONDS if most is not None else 3_600.0)


def _is_answered(watch: Watch, cycle: int) -> bool:
    """Say whether the decision of the newest cycle that counts was executed or refused."""
    return watch.overview.cycles.newest_executed >= cycle
