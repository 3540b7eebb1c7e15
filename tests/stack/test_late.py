"""What is late on a busy machine is waited for: heartbeats, and the last cycle of a run."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bus.clock import ManualClock
from bus.memory_adapter import MemoryBus, MemoryLog
from foresail import status
from foresail.stack.ending import MOST_SETTLE_SECONDS, SETTLE_SECONDS, settle
from tests.patience import HANGS_SECONDS


async def test_the_heartbeat_of_a_process_that_runs_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Longer than one usually listens; one that does not run has none to wait for."""
    monkeypatch.setattr(status, "LISTEN_SECONDS", 0.01)
    monkeypatch.setattr(status, "MOST_LISTEN_SECONDS", HANGS_SECONDS)
    bus = MemoryBus(MemoryLog(), "c")

    async def beat() -> None:
        await asyncio.sleep(0.2)
        await bus.send_heartbeat("late", b'{"pid": 7, "state": "live"}')

    beating = asyncio.create_task(beat())
    stack: Any = SimpleNamespace(processes={"late": 7, "down": 0})
    async with asyncio.timeout(HANGS_SECONDS / 2):
        assert (await status.collect_heartbeats(bus, stack)).keys() == {"late"}
    await beating


class Ending:
    """A stack whose collector has stopped at cycle 5; `stores` are the seconds at which something is stored."""

    def __init__(self, stores: list[float], done_at: float) -> None:
        self.clock, self._stores, self._done_at = ManualClock(), stores, done_at
        self.watch = self

    @property
    def seq(self) -> int:
        return sum(at <= self.clock.monotonic() for at in self._stores)

    @property
    def overview(self) -> Any:
        done = 5 if self.clock.monotonic() >= self._done_at else 4
        cycles = SimpleNamespace(newest_executed=done)
        return SimpleNamespace(observation=SimpleNamespace(cycle=5), cycles=cycles)


@pytest.mark.parametrize(
    ("stores", "done_at", "least", "most"),
    [
        ([], 0.0, 0.0, 1.0),  # nothing is open
        ([4.0, 8.0, 12.0], 12.0, 12.0, 15.0),  # slow, but something comes
        ([], 1e9, SETTLE_SECONDS, SETTLE_SECONDS + 1.0),  # the executor is gone
        ([float(at) for at in range(1_000)], 1e9, MOST_SETTLE_SECONDS, MOST_SETTLE_SECONDS + 5.0),
    ],
)
async def test_the_last_cycle_is_waited_for_while_something_is_stored(
    stores: list[float], done_at: float, least: float, most: float
) -> None:
    """Five seconds of silence end the wait for an outcome; a log that is never quiet does not prolong it for ever."""
    stack: Any = Ending(stores, done_at)
    await settle(stack.watch, stack.clock)
    assert least <= stack.clock.monotonic() <= most
