"""What a page asks of `foresail diff --clusters`: what it shows beside a recording, computed in a process beside it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from foresail.answer_beside import answer_beside
from foresail.shown_log import Shown

KEPT = 4
"""Answers that are kept."""


class CompareAnswer:
    """Answers of one log beside one recording."""

    def __init__(self, shown: Shown, other: str, word: str = "") -> None:
        """Compare with what `other` means to `foresail diff`; a recording that is shown has a `word` for it, too."""
        self._shown = shown
        self._other = other
        self._word = word
        self._known: OrderedDict[int, dict[str, Any]] = OrderedDict()

    async def __call__(self, at_seq: int | None, newest_seq: int) -> dict[str, Any]:
        """Return what `foresail diff A B --clusters --json` says, and what the `log` of A was.

        Args:
            at_seq: up to where a running stack's log is read; None: as in the newest answer there is, or else up
                to `newest_seq`. A recording is read to its end.
            newest_seq: the newest position of all.

        Raises:
            InputError: it could not be computed.
        """
        async with self._shown.turns.turn("--compare", self._other):
            if at_seq is None and self._known:
                return next(reversed(self._known.values()))
            until_seq = newest_seq if at_seq is None else min(at_seq, newest_seq)
            asked = self._shown.version(until_seq)
            if asked not in self._known:
                self._known[asked] = await self._compute(until_seq)
            self._known.move_to_end(asked)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return self._known[asked]

    async def _compute(self, until_seq: int) -> dict[str, Any]:
        path, log = await self._shown.recording(until_seq)
        words = ("diff", self._word or str(path), self._other, "--clusters")
        return {**await answer_beside(words, "--compare", self._other), "log": log}
