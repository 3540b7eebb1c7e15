"""Ending tasks for sure.

Before Python 3.12 `asyncio.wait_for` loses a cancellation when what it waits for arrives at the same
moment, and nats-py waits so for every reply. A task that reads quickly then never ends, and
whatever waits for its end hangs as well: a referee that had lost its subject lived on without deciding.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

AGAIN_SECONDS = 0.5
"""Pause after which a task that still runs is cancelled again."""


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks, again if need be, and return when all have ended; their errors are dropped."""
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        await asyncio.wait(pending, timeout=AGAIN_SECONDS)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not complain


async def finish_undisturbed(last: Coroutine[Any, Any, None]) -> None:
    """Do one last thing to its end, though the task that waits for it is cancelled again and again, as that of a
    process that was told to stop is. It has to end by itself.
    """
    task = asyncio.create_task(last, name="last")
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait({task})
    task.result()
