"""What a page shows, as a recording that a verb can read: the file itself, or a copy of a running stack's log.

Whatever is computed over it is computed one at a time; a few questions may wait.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from bus.errors import InputError
from bus.login import Login
from bus.recording.footer import stated_messages
from foresail.answer_beside import module_beside
from foresail.stack.state_folder import StackFile

MOST_WAITING = 4
"""Questions that wait while one is computed."""
COPY_NAME = "running stack.fslog"
"""A side of a comparison is named by its file."""


def environment_of(stack: StackFile, login: Login) -> dict[str, str]:
    """Return the environment of a process that reads a stack's log, as `foresail.log_copy` does."""
    return {
        **os.environ,
        "FORESAIL_CLUSTER": stack.cluster,
        "FORESAIL_INCARNATION": stack.incarnation,
        "FORESAIL_STREAM": stack.stream,
        "FORESAIL_NATS_URL": stack.nats_url,
        **login.environment(),
    }


class OneAtATime:
    """Turns of those who ask."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._one = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def turn(self, field: str, value: str) -> AsyncIterator[None]:
        """Wait for one's turn.

        Raises:
            InputError: too many wait already.
        """
        if self._waiting > self._most_waiting:
            remedy = f"{self._waiting} questions are being computed or wait; ask again later"
            raise InputError(field, value, remedy)
        self._waiting += 1
        try:
            async with self._one:
                yield
        finally:
            self._waiting -= 1


class Shown(Protocol):
    """A log that a page shows."""

    turns: OneAtATime

    def version(self, until_seq: int) -> int:
        """Return a number that changes when what would be read up to a position does."""
        ...

    async def recording(self, until_seq: int) -> tuple[Path, dict[str, Any]]:
        """Return a recording of it up to a position, and what the page must know of it (`log` of an answer).

        Raises:
            InputError: there can be none.
        """
        ...


class ShownFile:
    """A recording, read to its end; one that is still being written has more of it the next time."""

    def __init__(self, path: Path) -> None:
        self.turns = OneAtATime()
        self._path = path

    def version(self, until_seq: int) -> int:
        """Return the file's size."""
        del until_seq
        return self._path.stat().st_size

    async def recording(self, until_seq: int) -> tuple[Path, dict[str, Any]]:
        """Return the file."""
        del until_seq
        return self._path, {"grows": stated_messages(self._path) is None}


class ShownStack:
    """A running stack's log, copied to a folder over NATS; the newest copy is kept."""

    def __init__(self, environment: Mapping[str, str], folder: Path) -> None:
        """Copy the log that an environment names to a folder of one's own."""
        self.turns = OneAtATime()
        self._environment = environment
        self._path = folder / COPY_NAME
        self._about: dict[str, Any] = {}
        self._until_seq = -1

    def version(self, until_seq: int) -> int:
        """Return the position."""
        return until_seq

    async def recording(self, until_seq: int) -> tuple[Path, dict[str, Any]]:
        """Copy the log up to a position."""
        if until_seq != self._until_seq:
            self._path.unlink(missing_ok=True)
            self._until_seq = -1
            copied = await module_beside(
                "foresail.log_copy",
                (str(self._path), str(until_seq)),
                "log",
                f"up to event {until_seq}",
                remedy="record it with `foresail recording record FILE`, and open the recording",
                environment=self._environment,
            )
            self._about, self._until_seq = {"grows": True, "copied": copied}, until_seq
        return self._path, self._about
