"""What a page asks of `foresail what-if`, computed beside it, one question at a time."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from bus.errors import InputError
from foresail.answer_beside import answer_beside
from foresail.shown_log import Shown

KEPT = 16
"""Answers that are kept: going back to one costs nothing."""
CHANGEABLE = "agents."
"""Settings that a page may change: those of the policies. Others name files."""


class WhatIfAnswers:
    """Answers over one log."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._known: OrderedDict[tuple[Any, ...], dict[str, Any]] = OrderedDict()

    async def __call__(self, assignments: Sequence[str], until_seq: int) -> dict[str, Any]:
        """Return what `foresail what-if FILE --set NAME=VALUE --json` says, and what the `log` of it was.

        Args:
            assignments: `NAME=VALUE` each.
            until_seq: up to where a running stack's log is read; a recording is read to its end.

        Raises:
            ConfigError: no `=`, or no such setting.
            InputError: the change is none that a page may make, or cannot be computed.
        """
        words = tuple(f"{name}={value}" for name, value in sorted(changes_of(assignments).items()))
        async with self._shown.turns.turn("set", ", ".join(words)):
            asked = (self._shown.version(until_seq), *words)
            if asked not in self._known:
                self._known[asked] = await self._compute(words, until_seq)
            self._known.move_to_end(asked)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return self._known[asked]

    async def _compute(self, assignments: Sequence[str], until_seq: int) -> dict[str, Any]:
        path, log = await self._shown.recording(until_seq)
        flags = [word for one in assignments for word in ("--set", one)]
        words = ("what-if", str(path), *flags)
        return {**await answer_beside(words, "set", ", ".join(assignments)), "log": log}


def changes_of(assignments: Sequence[str]) -> dict[str, float | bool]:
    """Return the changes by full name.

    Raises:
        ConfigError: no `=`, or no such setting.
        InputError: nothing is changed, or not a number of an agent.
    """
    from lab.rerun.changes import read_settings  # noqa: PLC0415 - a page's server starts without it

    changes = read_settings(assignments)
    if not changes:
        raise InputError("set", "", "give NAME=VALUE, such as agents.safety.replicate=0.9")
    for name, value in changes.items():
        if not (name.startswith(CHANGEABLE) and isinstance(value, int | float)):
            remedy = "this page changes numbers of agents.*; `foresail what-if` changes the rest"
            raise InputError("set", f"{name}={value}", remedy)
    return changes
