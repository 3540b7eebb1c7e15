"""Large messages in a row leave others their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from bus.clock import SystemClock
from bus.follow import LARGE_BYTES, Follower, Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import StoredMessage
from services.referee.service import RefereeHandler
from tests.builders import ORIGIN
from tests.patience import HANGS_SECONDS

COUNT = 30


async def many() -> AsyncIterator[StoredMessage]:
    """Yield large messages that are there at once, then nothing more."""
    subject = f"foresail.{ORIGIN.cluster}.observation"
    for seq in range(1, COUNT + 1):
        yield StoredMessage(seq, seq, subject, {}, bytes(LARGE_BYTES + 1))
    await asyncio.Event().wait()


async def test_a_heartbeat_goes_out_between_two_large_messages() -> None:
    """Of a backlog of large messages, each is followed by a turn of the loop."""
    bus = MemoryBus(MemoryLog(), ORIGIN.cluster)
    publisher = Publisher(bus, ORIGIN, "referee")
    follower = Follower(RefereeHandler(1.0), bus, SystemClock(), publisher)
    following = asyncio.create_task(follower._follow(many()))
    seen: set[int] = set()
    try:
        async with asyncio.timeout(HANGS_SECONDS):
            while follower._seq < COUNT:
                seen.add(follower._seq)
                await asyncio.sleep(0)
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    assert len(seen) > COUNT // 2
