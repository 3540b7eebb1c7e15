"""The port: what a runner knows of an engine. All adapters pass one contract suite (tests/lab/sessions)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bus.errors import ForesailError
from inputs.limited_files import BadFile, read_limited
from lab.sessions.names import object_name

RESULT_BYTES = 16 * 1024**2
"""Bytes of one result."""
TAIL_LINES = 5
TAIL_BYTES = 2_000
"""What is kept of the log of a job that did not succeed."""


class NotSubmitted(ForesailError):
    """The engine does not take an attempt; the text says why. Other jobs may go on."""


class NoResult(ForesailError):
    """A job has ended well and its result is not there, not whole, too large, or no JSON; the text says which."""


class EngineLost(ForesailError):
    """The engine itself is gone: what it ran is lost, and a resumed session begins those jobs anew."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a job."""

    job_id: str
    number: int
    """From 1."""
    words: tuple[str, ...]
    """The command line."""
    output_json: str
    """Where its result belongs."""
    timeout_seconds: float
    config: str = "{}"
    """Its configuration as JSON, for those who look at the engine's own objects."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of its process beside `JOB_ID` and `PYTHONUNBUFFERED`."""

    @property
    def name(self) -> str:
        """Its name among files and objects; the same after a restart of the runner."""
        return f"{object_name(self.job_id)}-{self.number}"


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended, whoever started it."""

    name: str
    exit_code: int | None
    """None: it was never begun, or nobody knows how it ended."""
    seconds: float = 0.0
    timed_out: bool = False
    """The engine's own deadline ended it."""
    reason: str = ""
    """Why it did not end well, where the exit code does not say."""
    log_tail: tuple[str, ...] = field(default=())


class Engine(Protocol):
    """Runs attempts; every one that was submitted comes out of `watch` exactly once."""

    @property
    def name(self) -> str:
        """What the engine is called: local, kubernetes or ray."""
        ...

    @property
    def keeps_deadlines(self) -> bool:
        """Whether it ends an attempt by itself whose time is over; else the runner cancels it."""
        ...

    def result_path(self, output_json: str) -> str:
        """Return the file that the job is told to write its result into."""
        ...

    async def open(self) -> None:
        """Get ready, and take up what an earlier runner of this session left.

        Raises:
            InputError: it cannot be reached or used.
        """
        ...

    async def submit(self, attempt: Attempt) -> str:
        """Begin an attempt, or take it up where an earlier runner has begun it; return what it is called there.

        Raises:
            NotSubmitted: this attempt cannot be begun.
            EngineLost: none can.
        """
        ...

    def watch(self) -> AsyncIterator[Ending]:
        """Yield attempts as they end.

        Raises:
            EngineLost: no more will come.
        """
        ...

    async def cancel(self, attempt: Attempt) -> None:
        """Stop an attempt with everything that it started; its ending follows."""
        ...

    async def collect(self, attempt: Attempt) -> bytes:
        """Return the result of an attempt that ended with 0, once it stands where it belongs.

        Raises:
            NoResult: there is none that can be used.
        """
        ...

    async def close(self) -> None:
        """Stop what still runs, and leave nothing behind."""
        ...


def environment_of(attempt: Attempt) -> dict[str, str]:
    """Return the variables of an attempt's process."""
    return {"JOB_ID": attempt.job_id, "PYTHONUNBUFFERED": "1", **dict(attempt.environment)}


def make_room(output: Path) -> None:
    """Make the folder of a result, and remove an older result, which is not that of the attempt to come.

    Raises:
        NotSubmitted: it cannot be written there.
    """
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.unlink(missing_ok=True)
    except OSError as error:
        raise NotSubmitted(f"output_json = {output}: {error.strerror}") from error


def read_result_file(path: Path) -> bytes:
    """Return the bytes of a result; raises NoResult."""
    try:
        return read_limited(path, RESULT_BYTES)
    except FileNotFoundError as error:
        raise NoResult(f"it wrote no {path}") from error
    except OSError as error:
        raise NoResult(f"{path}: {error.strerror}") from error
    except BadFile as error:
        raise NoResult(f"{path}: {error}") from error


def tail_of(text: str) -> tuple[str, ...]:
    """Return the last lines of a log, within bounds."""
    return tuple(text[-TAIL_BYTES:].splitlines()[-TAIL_LINES:])
