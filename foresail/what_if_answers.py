"""What the page of a recording asks of `foresail what-if`, computed beside it, one question at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bus.errors import InputError
from foresail.answer_beside import answer_beside
from lab.rerun.changes import read_settings

KEPT = 16
"""Answers that are kept: going back to one costs nothing."""
CHANGEABLE = "agents."
"""Settings that a page may change: those of the policies. Others name files."""


class WhatIfAnswers:
    """Answers over one recording."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._one = asyncio.Lock()
        self._known: OrderedDict[tuple[str, ...], dict[str, Any]] = OrderedDict()

    async def __call__(self, assignments: Sequence[str]) -> dict[str, Any]:
        """Return what `foresail what-if FILE --set NAME=VALUE --json` says.

        Args:
            assignments: `NAME=VALUE` each.

        Raises:
            ConfigError: no `=`, or no such setting.
            InputError: the change is none that a page may make, or cannot be computed.
        """
        asked = tuple(f"{name}={value}" for name, value in sorted(changes_of(assignments).items()))
        async with self._one:
            if asked not in self._known:
                self._known[asked] = await self._compute(asked)
            self._known.move_to_end(asked)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
            return self._known[asked]

    async def _compute(self, assignments: Sequence[str]) -> dict[str, Any]:
        flags = [word for one in assignments for word in ("--set", one)]
        words = ("what-if", str(self._file), *flags)
        return await answer_beside(words, "set", ", ".join(assignments))


def changes_of(assignments: Sequence[str]) -> dict[str, float | bool]:
    """Return the changes by full name.

    Raises:
        ConfigError: no `=`, or no such setting.
        InputError: nothing is changed, or not a number of an agent.
    """
    changes = read_settings(assignments)
    if not changes:
        raise InputError("set", "", "give NAME=VALUE, such as agents.safety.replicate=0.9")
    for name, value in changes.items():
        if not (name.startswith(CHANGEABLE) and isinstance(value, int | float)):
            remedy = "this page changes numbers of agents.*; `foresail what-if` changes the rest"
            raise InputError("set", f"{name}={value}", remedy)
    return changes
