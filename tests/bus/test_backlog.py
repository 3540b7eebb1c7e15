"""What is read ahead of a handler: everything, in order, and what ended it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from bus.backlog import BACKLOG, Backlog
from bus.errors import BusUnavailable
from bus.port import StoredMessage
from schemas.view import OPEN_LIMIT


def message(seq: int) -> StoredMessage:
    """Return any message at a position."""
    return StoredMessage(seq, seq, "foresail.c.observation", {}, b"{}")


async def ending(count: int) -> AsyncIterator[StoredMessage]:
    """Yield messages, then fail as a bus does."""
    for seq in range(1, count + 1):
        yield message(seq)
    raise BusUnavailable("the server is gone")


async def test_everything_comes_in_order_before_the_failure() -> None:
    """However much waits, nothing is dropped, and the bus' failure comes last."""
    backlog, taken = Backlog(), []
    reader = asyncio.create_task(backlog.fill(ending(3 * BACKLOG)))
    reader.add_done_callback(backlog.end)
    while len(taken) < 3 * BACKLOG:
        part = await backlog.take(None)
        assert len(part) <= BACKLOG
        taken += [message.seq for message in part]
    with pytest.raises(BusUnavailable):
        await backlog.take(None)

    assert taken == list(range(1, 3 * BACKLOG + 1))


async def test_waiting_ends_with_the_time() -> None:
    """Without a message `take` returns nothing when its time is up, and goes on afterwards."""
    backlog = Backlog()

    assert [] == await backlog.take(0.0)
    backlog._messages.append(message(1))
    backlog._change.set()
    assert [message(1)] == await backlog.take(None)


def test_one_reading_forgets_no_open_cycle() -> None:
    """A handler that gets a full backlog of observations at once still knows each of their cycles."""
    assert BACKLOG < OPEN_LIMIT
