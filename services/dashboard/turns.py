"""Turns: a moment that somebody waits for goes before a reading of the whole log that takes a processor for seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Long work asks between two pieces whether something short is under way, and waits for it."""

    def __init__(self) -> None:
        self._short = 0
        self._none_short = asyncio.Event()
        self._none_short.set()

    @contextmanager
    def short(self) -> Iterator[None]:
        """Go before long work."""
        self._short += 1
        self._none_short.clear()
        try:
            yield
        finally:
            self._short -= 1
            if not self._short:
                self._none_short.set()

    async def after_short(self) -> None:
        """Return when nothing short is under way."""
        await self._none_short.wait()
