"""Waiting for a state by looking again and again; nothing here sleeps for a guess."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

POLL_SECONDS = 0.05


async def wait_until(reached: Callable[[], object], seconds: float) -> bool:
    """Wait until `reached` says yes; False when it did not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True
