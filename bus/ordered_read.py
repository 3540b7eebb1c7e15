"""Reading the log in order, without hole or duplicate, whatever the live feed does.

The live feed may lose, double, delay or reorder messages; it only tells that there is something
new. Positions in the stream are contiguous, so a jump is a hole, and holes are fetched by position.
Both adapters use this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from bus.port import Messages, StoredMessage
from schemas.subjects import matches

CHECK_SECONDS = 2.0
"""How often the log's end is asked for when the feed is silent: the feed may have lost the newest
message.
"""


class Log(Protocol):
    """What an adapter can do for an ordered reader."""

    def fetch(self, start_seq: int, end_seq: int) -> Messages:
        """Yield what is stored between two positions, both included, in order."""
        ...

    async def last_seq(self) -> int:
        """Return the position of the newest message."""
        ...


def wanted(subjects: Sequence[str], subject: str) -> bool:
    """Say whether a subject falls under one of the patterns."""
    return any(matches(pattern, subject) for pattern in subjects)


async def read_ordered(
    log: Log, feed: asyncio.Queue[StoredMessage], subjects: Sequence[str], start_seq: int
) -> Messages:
    """Yield stored messages from `start_seq` on, for ever.

    Args:
        log: where holes are fetched from.
        feed: live messages of every subject of the stream, attached before this is called.
        subjects: patterns of what is yielded.
        start_seq: the first position.
    """
    next_seq = start_seq
    end_seq = await log.last_seq()
    while True:
        if end_seq >= next_seq:
            async for message in log.fetch(next_seq, end_seq):
                if wanted(subjects, message.subject):
                    yield message
            next_seq = end_seq + 1
        fresh = await _next(feed)
        if fresh is None:
            end_seq = await log.last_seq()
        elif fresh.seq == next_seq:
            next_seq += 1
            end_seq = next_seq - 1
            if wanted(subjects, fresh.subject):
                yield fresh
        else:
            end_seq = max(end_seq, fresh.seq)


async def _next(feed: asyncio.Queue[StoredMessage]) -> StoredMessage | None:
    """Return the next live message, or None when the feed was silent for a while."""
    if not feed.empty():
        return feed.get_nowait()
    # Not wait_for: before Python 3.12 it starts a task, so the order of events at one instant of
    # virtual time would depend on the interpreter.
    with suppress(TimeoutError):
        async with asyncio.timeout(CHECK_SECONDS):
            return await feed.get()
    return None
