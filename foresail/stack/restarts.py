"""When a process that ended is started again. Pure: exit codes and durations in, a pause out."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from bus.exit_codes import ExitCode

LONGEST_PAUSE_SECONDS = 30.0
SETTLED_SECONDS = 60.0
"""A process that ran for so long starts afresh: its next end is answered with the first pause."""
MOST_FAILED_STARTS = 6
"""Failed starts in a row after which a process is given up, and the stack with it: a server has had
13 seconds by then."""

MEANINGS: dict[int, str] = {
    ExitCode.ANOTHER_WRITER: "another process of its name writes the log, stop one of the two",
    ExitCode.HUNG: "its event loop hung, its log shows where",
}
"""What the exit codes of our own programs say beyond their number."""


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How a process ended, or failed to start."""

    text: str
    """For people: exit code or signal, and the reason where it is known."""
    ran_seconds: float = 0.0
    """How long it ran; 0 when it did not start."""
    frozen: bool = False
    """It was killed for being frozen, or ended its own hang: it has been missing for long enough."""
    another_writer: bool = False
    """Another process of its name writes the log; only an operator knows which of the two should."""
    refused: bool = False
    """It was given bad input, so that trying again never helps."""
    start_error: str = ""
    """Why it could not be started; empty when it ran."""


def process_end(
    code: int, ran_seconds: float, *, frozen: str = "", own_program: bool = True
) -> ProcessEnd:
    """Return what an exit code means.

    Args:
        code: as the operating system gives it, negative for a signal.
        ran_seconds: how long the process ran.
        frozen: why it was killed for being frozen; empty when it was not.
        own_program: whether the code is one of `bus.exit_codes`; nats-server has codes of its own.
    """
    ours = code if own_program else ExitCode.GOOD
    reason = frozen or MEANINGS.get(ours, "")
    return ProcessEnd(
        f"{exit_text(code)}: {reason}" if reason else exit_text(code),
        ran_seconds,
        frozen=bool(frozen) or ours == ExitCode.HUNG,
        another_writer=ours == ExitCode.ANOTHER_WRITER,
        refused=ours == ExitCode.BAD_INPUT,
    )


def exit_text(code: int) -> str:
    """Return an exit code or signal in words."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


class Backoff:
    """The pauses before the starts of one process: doubling, up to half a minute."""

    def __init__(self, first_seconds: float) -> None:
        """Begin with `first_seconds`, and again after the process has run for a minute."""
        self._first_seconds = self._next_seconds = first_seconds
        self._replaced = False
        """Whether the newest start replaced a frozen process."""

    def pause_seconds(self, end: ProcessEnd) -> float:
        """Return how long to wait after this end; a frozen process is replaced at once, unless it
        froze again soon after it had been replaced.
        """
        settled = end.ran_seconds > SETTLED_SECONDS
        if settled:
            self._next_seconds = self._first_seconds
        if end.another_writer:
            self._next_seconds = LONGEST_PAUSE_SECONDS
        at_once = end.frozen and (settled or not self._replaced)
        self._replaced = end.frozen
        if at_once:
            return 0.0
        pause = self._next_seconds
        self._next_seconds = min(2 * pause, LONGEST_PAUSE_SECONDS)
        return pause
