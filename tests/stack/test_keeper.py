"""Servers that die come back at once, then with growing pauses, and are given up in the end."""

from __future__ import annotations

import asyncio

import pytest

from bus.clock import ManualClock
from bus.errors import Permanent
from foresail.stack.keeper import GIVE_UP_TRIES, keep, kept


class Scripted:
    """A server whose starts succeed or fail as told, and which dies again at once."""

    def __init__(self, starts: list[bool]) -> None:
        self.starts = starts

    async def wait(self) -> int:
        """End at once; run for ever when the script is over."""
        if not self.starts:
            await asyncio.Event().wait()
        return -9

    async def restart(self) -> None:
        """Start as the script says."""
        if not self.starts.pop(0):
            raise Permanent("the port is taken")


async def test_it_comes_back_with_growing_pauses() -> None:
    """Each death is told with its signal and the pause; pauses double."""
    told: list[str] = []
    server = Scripted([True, False, True])

    async with kept(
        "log", server, ManualClock(), lambda _name, what: told.append(what), lambda *_: None
    ):
        async with asyncio.timeout(1):
            while server.starts or told[-1] != "started again":
                await asyncio.sleep(0)

    assert told == [
        "ended with signal SIGKILL; starting again in 0.2 s",
        "started again",
        "ended with signal SIGKILL; starting again in 0.4 s",
        "ended with an error (the port is taken); starting again in 0.8 s",
        "started again",
    ]


async def test_what_never_starts_is_given_up() -> None:
    """After several failed starts in a row the last reason ends it."""
    server = Scripted([False] * (GIVE_UP_TRIES + 1))

    with pytest.raises(Permanent, match="the port is taken"):
        await keep("log", server, ManualClock(), lambda *_: None)
    assert 1 == len(server.starts)


async def test_giving_up_is_told() -> None:
    """The owner of a kept server hears why it is not kept any more."""
    heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = Scripted([False] * GIVE_UP_TRIES)

    async with kept(
        "log", server, ManualClock(), lambda *_: None, lambda _name, why: heard.set_result(why)
    ):
        assert "the port is taken" == await asyncio.wait_for(heard, 1)
