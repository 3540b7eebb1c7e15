"""A pseudo-terminal that is read while something writes to it, as people's terminals are."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.patience import HANGS_SECONDS


@contextmanager
def pseudo_terminal() -> Iterator[tuple[int, list[bytes]]]:
    """Give a descriptor to write to, closed after the block, and what comes, complete then.

    One that nobody reads holds some kilobytes; whoever writes more waits for ever, and a bar on a slow machine does.
    """
    ours, theirs = pty.openpty()
    got: list[bytes] = []

    def read() -> None:
        # An error says that the other side is closed and everything is read.
        with os.fdopen(ours, "rb", buffering=0) as terminal, suppress(OSError):
            while chunk := terminal.read(65_536):
                got.append(chunk)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield theirs, got
    finally:
        os.close(theirs)
        reader.join(HANGS_SECONDS)
    assert not reader.is_alive(), "somebody still has the terminal open"
