"""How verbs write: people's text through rich, scripts' JSON on plain stdout, errors as one line on
stderr.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

from rich.console import Console

from schemas.wording import count_text

PAGE_COLUMNS = 100


class _PipeConsole(Console):
    """A console that tells its caller when the reader of a pipe went away."""

    def on_broken_pipe(self) -> None:
        """Raise what was caught: rich would end the process with the code for a difference."""
        raise BrokenPipeError


@cache
def console() -> Console:
    """Return the console of this process."""
    return _PipeConsole(highlight=False, soft_wrap=not sys.stdout.isatty())


def own_console() -> Console:
    """Return another console on stdout that shares no buffer, and so no lock, with `console()`."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # no file: somebody captures what this process prints
        return console()
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    out = open(descriptor, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    return _PipeConsole(file=out, highlight=False, soft_wrap=not out.isatty())


@cache
def page() -> Console:
    """Return the console for whole screens: as wide as the terminal, 100 columns elsewhere."""
    return _PipeConsole(highlight=False, width=None if sys.stdout.isatty() else PAGE_COLUMNS)


def print_json(value: Any) -> None:
    """Write one JSON document and a line end."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def print_error(text: str) -> None:
    """Write one error line."""
    sys.stderr.write(f"error: {text}\n")


def print_note(text: str) -> None:
    """Write one line beside what a script reads on stdout; nothing is wrong."""
    sys.stderr.write(f"note: {text}\n")


def not_events(count: int) -> str:
    """Return that so many messages cannot be read as events."""
    return (
        count_text(count, "message is no event", "messages are no events") + " of today's schemas"
    )
