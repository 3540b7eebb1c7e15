"""Keys pressed while a replay runs: one at a time on a terminal, one a line from a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

HELP = "space pause/go on · s one cycle · + faster · - slower · m as fast as possible · q quit"


@contextmanager
def reading_keys(take: Callable[[str], None]) -> Iterator[bool]:
    """Hand each key to `take` for the length of a block; yield whether keys can be read at all.

    Line ends of a pipe are no keys. On a terminal, the line end is a key like any other.
    """
    loop = asyncio.get_running_loop()
    try:
        descriptor = sys.stdin.fileno()
    except (OSError, ValueError):  # no standard input
        yield False
        return
    terminal = os.isatty(descriptor)

    def read() -> None:
        pressed_bytes = os.read(descriptor, 64)
        if not pressed_bytes:
            loop.remove_reader(descriptor)
        for key in pressed_bytes.decode(errors="replace"):
            if terminal or key != "\n":
                take(key)

    with _key_by_key(descriptor, terminal):
        try:
            loop.add_reader(descriptor, read)
        except (OSError, NotImplementedError):  # a plain file, /dev/null
            yield False
            return
        try:
            yield True
        finally:
            loop.remove_reader(descriptor)


@contextmanager
def _key_by_key(descriptor: int, terminal: bool) -> Iterator[None]:
    """Have a terminal give keys as they are pressed, unseen; as it was before, afterwards."""
    if not terminal:
        yield
        return
    import termios  # noqa: PLC0415 - only terminals have it
    import tty  # noqa: PLC0415

    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
