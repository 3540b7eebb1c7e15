"""Long reading waits while a moment is made, and goes on afterwards."""

from __future__ import annotations

import asyncio

import pytest

from services.dashboard import incident_reader
from services.dashboard.turns import Turns
from tests.dashboard.test_past import reading


async def test_long_work_waits_for_everything_short() -> None:
    """Of two short ones under way both must have ended."""
    turns = Turns()
    await asyncio.wait_for(turns.after_short(), 5)
    with turns.short():
        with turns.short():
            pass
        waits = asyncio.create_task(turns.after_short())
        await asyncio.sleep(0)
        assert not waits.done()
    await asyncio.wait_for(waits, 5)


async def test_incidents_wait_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read on when it is made, and are those that they would have been."""
    monkeypatch.setattr(incident_reader, "BETWEEN", 1)
    async with reading() as hub:
        earlier = hub.page.overview.seq - 1  # the newest is read already
        with hub.past.turns.short():
            asked = asyncio.create_task(hub.past.incidents(earlier))
            done, _ = await asyncio.wait([asked], timeout=2)
            assert not done
        told = await asyncio.wait_for(asked, 60)
    async with reading() as hub:
        assert told == await hub.past.incidents(earlier)
