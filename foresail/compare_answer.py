"""What the page of a recording asks of `foresail diff --clusters`: computed once, in a process beside it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from bus.errors import InputError


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
                self._known = await self._compute()
            return self._known

    async def _compute(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "foresail", "diff", *self._words, "--clusters", "--json"]
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            said, complained = await process.communicate()
        except asyncio.CancelledError as error:
            # The server ends: whoever asked gets a line, and its log no traceback.
            raise InputError("--compare", self._words[1], "the server ended meanwhile") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            answer: dict[str, Any] = json.loads(said)
        except ValueError as error:
            lines = complained.decode(errors="replace").strip().splitlines() or ["no answer"]
            raise InputError("--compare", self._words[1], lines[-1]) from error
        return answer
