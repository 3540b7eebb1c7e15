"""Reading the log in order, without hole or duplicate, whatever the live feed does.

The live feed may lose, double, delay or reorder messages; it only tells that there is something
new. Positions in the stream are contiguous, so a jump is a hole, and holes are fetched by position.
Both adapters use this.

A log can also go back: a server whose machine lost power, or that was given another store, comes
back without what it had told last, and then writes other messages under the same positions. A
reader never goes on over that seam. After each lost connection, and when a message of an old
position is newer than what was read, it compares the log with the last message it read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from functools import lru_cache
from typing import Protocol

from bus.errors import LogWentBack
from bus.port import Messages, StoredMessage
from schemas.subjects import matches

CHECK_SECONDS = 2.0
"""How often the log's end is asked for when the feed is silent: the feed may have lost the newest
message.
"""


class OrderedSource(Protocol):
    """Operations of an adapter for an ordered reader."""

    def fetch(self, start_seq: int, end_seq: int) -> Messages:
        """Yield what is stored between two positions, both included, in order."""
        ...

    async def last_seq(self) -> int:
        """Return the position of the newest message."""
        ...


def matches_any(subjects: Sequence[str], subject: str) -> bool:
    """Say whether a subject falls under one of the patterns."""
    return _matches_any(tuple(subjects), subject)


@lru_cache(maxsize=16_384)  # every reader asks it of every message
def _matches_any(patterns: tuple[str, ...], subject: str) -> bool:
    return any(matches(pattern, subject) for pattern in patterns)


async def read_ordered(
    log: OrderedSource,
    feed: asyncio.Queue[StoredMessage],
    subjects: Sequence[str],
    start_seq: int,
    *,
    losses: Callable[[], int] = lambda: 0,
    loses: bool = True,
) -> Messages:
    """Yield stored messages from `start_seq` on, without end.

    Args:
        log: where holes are fetched from.
        feed: live messages of every subject of the stream, attached before this is called.
        subjects: patterns of what is yielded.
        start_seq: the first position; everything before it has been read by the caller.
        losses: how often the connection has been lost so far; each time the log is compared.
        loses: whether the feed may lose messages, so that its silence says nothing.

    Raises:
        LogWentBack: the log does not hold any more what was read from it.
    """
    next_seq, newest, lost = start_seq, None, losses()
    end_seq = await _checked_end(log, next_seq - 1)
    while True:
        if end_seq >= next_seq:
            async for message in log.fetch(next_seq, end_seq):
                newest = message
                if matches_any(subjects, message.subject):
                    yield message
            next_seq = end_seq + 1
        fresh = await (_next_live(feed) if loses else feed.get())
        if lost != losses() or _contradicts(fresh, newest):
            lost = losses()
            await check_unchanged(log, newest)
            end_seq = await _checked_end(log, next_seq - 1)
        elif fresh is None:
            end_seq = await _checked_end(log, next_seq - 1)
        elif fresh.seq == next_seq:
            next_seq += 1
            end_seq = next_seq - 1
            newest = fresh
            if matches_any(subjects, fresh.subject):
                yield fresh
        else:
            end_seq = max(end_seq, fresh.seq)


async def _checked_end(log: OrderedSource, read_seq: int) -> int:
    """Return the position of the log's newest message; raises LogWentBack when we read beyond it."""
    end_seq = await log.last_seq()
    if end_seq < read_seq:
        raise LogWentBack(read_seq, end_seq)
    return end_seq


async def check_unchanged(log: OrderedSource, newest: StoredMessage | None) -> None:
    """Raise LogWentBack when the newest message that was read is not where it was read.

    A server that lost the end of its store may remember how far it had counted: then nothing stands
    at the lost positions. Retention takes the oldest first, so when it took ours, no older one is left.
    """
    if newest is None:
        return
    at = await _first_message(log, newest.seq, newest.seq)
    if at is None:
        lost = await _first_message(log, 1, newest.seq) is not None
    else:
        lost = (at.time_ns, at.subject) != (newest.time_ns, newest.subject)
    if lost:
        raise LogWentBack(newest.seq, await log.last_seq())


async def _first_message(log: OrderedSource, start_seq: int, end_seq: int) -> StoredMessage | None:
    async with aclosing(log.fetch(start_seq, end_seq)) as messages:
        return await anext(messages, None)


def _contradicts(fresh: StoredMessage | None, newest: StoredMessage | None) -> bool:
    """Say whether a message is younger than what was read, but stands before it."""
    if fresh is None or newest is None:
        return False
    return fresh.seq <= newest.seq and fresh.time_ns > newest.time_ns


async def _next_live(feed: asyncio.Queue[StoredMessage]) -> StoredMessage | None:
    """Return the next live message, or None when the feed was silent for a while."""
    if not feed.empty():
        return feed.get_nowait()
    # Not wait_for: before Python 3.12 it starts a task, so the order of events at one instant of
    # virtual time would depend on the interpreter.
    with suppress(TimeoutError):
        async with asyncio.timeout(CHECK_SECONDS):
            return await feed.get()
    return None
