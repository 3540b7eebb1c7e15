"""Ending a task for sure.

Before Python 3.12 `asyncio.wait_for` loses a cancellation when what it waits for arrives at the same
moment, and nats-py waits so for every reply. A task that reads quickly then goes on for ever, and
whoever waits for its end does, too: a referee that had lost its subject lived on without deciding.
"""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_SECONDS = 0.5
"""Pause after which a task that still runs is cancelled again."""


async def end(task: asyncio.Task[Any]) -> None:
    """Cancel a task, again if need be, and return when it has ended; how it ended is not told."""
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=AGAIN_SECONDS)
    if not task.cancelled():
        task.exception()  # looked at, so that asyncio does not complain
