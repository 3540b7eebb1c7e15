"""What `foresail up` shows and counts survives an event that it cannot take."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from bus.clock import LoopClock
from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from foresail.stack.watch import Watch
from projections.run_totals import RunTotals
from schemas.envelope import NewEvent
from tests.builders import ORIGIN, cycle_time, make_observation


def test_an_event_that_cannot_be_counted_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watch goes on with the next event, and says which one it left out."""
    add, log = RunTotals.add, MemoryLog()
    watch = Watch(MemoryBus(log, ORIGIN.cluster), ORIGIN.cluster, None)
    taken: list[int] = []
    watch.listeners.append(lambda event: taken.append(event.cycle))

    def poisoned(totals: RunTotals, event: Any) -> None:
        if event.cycle == 2:
            raise KeyError("poison")
        add(totals, event)

    monkeypatch.setattr(RunTotals, "add", poisoned)

    async def main() -> None:
        publisher = Publisher(MemoryBus(log, ORIGIN.cluster), ORIGIN, "collector")
        for cycle in (1, 2, 3):
            data = make_observation(1, cycle=cycle)
            await publisher.publish([NewEvent(data, cycle, cycle_time(cycle))])
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await watch.run_through_outages(LoopClock(0))

    run_virtual(main)
    assert [1, 3] == taken
    assert ["watch, 2: KeyError: 'poison'"] == [*watch.notes]
