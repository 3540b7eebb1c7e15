"""Keeps a server of the stack running: nats-server and the twin.

Both hold what everything else needs, on a port that everybody knows, so a server that dies is
started again at once, on the same port and folder, and again with a back-off that doubles up to
half a minute. Clients wait and reconnect by themselves.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol

from bus.clock import Clock
from bus.errors import ForesailError
from projections.figures import duration

FIRST_BACKOFF_SECONDS = 0.2
LONGEST_BACKOFF_SECONDS = 30.0
SETTLED_SECONDS = 60.0
"""A server that ran for so long starts afresh: its next death is answered at once."""

GIVE_UP_TRIES = 6
"""Failed starts in a row after which the server is given up, and the stack with it: 13 seconds."""

OnChange = Callable[[str, str], None]


class Server(Protocol):
    """What can be kept."""

    async def restart(self) -> None:
        """Start again where it was; raises ForesailError when that fails."""
        ...

    async def wait(self) -> int:
        """Wait until it ends; return its exit code, negative for a signal."""
        ...


@asynccontextmanager
async def kept(
    name: str, server: Server, clock: Clock, on_change: OnChange, on_give_up: OnChange
) -> AsyncIterator[None]:
    """Keep a started server running inside the block; the caller stops it afterwards.

    `on_change(name, what)` hears of deaths and starts, `on_give_up(name, why)` of the end of trying.
    """

    async def run() -> None:
        try:
            await keep(name, server, clock, on_change)
        except ForesailError as error:
            on_give_up(name, str(error))

    keeping = asyncio.create_task(run(), name=f"keep-{name}")
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def keep(name: str, server: Server, clock: Clock, on_change: OnChange) -> None:
    """Start `server` again whenever it ends, until cancelled; `on_change(name, what)` hears of it.

    Raises:
        ForesailError: it could not be started again, several times in a row.
    """
    backoff = FIRST_BACKOFF_SECONDS
    while True:
        began = clock.monotonic()
        how = ending(await server.wait())
        if clock.monotonic() - began > SETTLED_SECONDS:
            backoff = FIRST_BACKOFF_SECONDS
        for attempt in range(1, GIVE_UP_TRIES + 1):
            on_change(name, f"ended with {how}; starting again in {duration(backoff)}")
            await clock.sleep(backoff)
            backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
            try:
                await server.restart()
            except ForesailError as error:
                if attempt == GIVE_UP_TRIES:
                    raise
                how = f"an error ({error})"
            else:
                break
        on_change(name, "started again")


def ending(code: int) -> str:
    """Say how a process ended."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
