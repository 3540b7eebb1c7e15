"""What the page of a recording asks of `foresail diff --clusters`: computed once, in a process beside it."""

from __future__ import annotations

import asyncio
from typing import Any

from foresail.answer_beside import answer_beside


class CompareAnswer:
    """The answer of one pair of recordings."""

    def __init__(self, first: str, second: str) -> None:
        """Compare what both words mean, as `foresail diff` takes them."""
        self._words = (first, second)
        self._one = asyncio.Lock()
        self._known: dict[str, Any] | None = None

    async def __call__(self) -> dict[str, Any]:
        """Return what `foresail diff A B --clusters --json` says.

        Raises:
            InputError: it could not be computed.
        """
        async with self._one:
            if self._known is None:
                words = ("diff", *self._words, "--clusters")
                self._known = await answer_beside(words, "--compare", self._words[1])
            return self._known
