"""Turns of long answers: one piece at a time, with all other requests in between.

Guarantee: however many long lists and watches are being sent, no other request waits for more than
one piece of one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator


class RoundRobin:
    """Takes the pieces of any number of answers in turn."""

    def __init__(self) -> None:
        """Begin without a turn."""
        self._lock = asyncio.Lock()  # serves in the order in which it is asked

    async def pieces(self, made: Iterator[bytes]) -> AsyncIterator[bytes]:
        """Yield each piece; making one is a turn, which ends when others have been served."""
        while True:
            async with self._lock:
                piece = next(made, None)
                await asyncio.sleep(0)
            if piece is None:
                return
            yield piece
