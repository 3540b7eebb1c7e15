"""A progress bar over a recording's bytes, on stderr, only when somebody looks at it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from bus.port import StoredMessage

EVERY_MESSAGES = 500
OnMessage = Callable[[StoredMessage], None]


@contextmanager
def reading(path: Path, doing: str) -> Iterator[OnMessage | None]:
    """Show how many messages of a recording were read; yields None when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"{doing} {path.name}", total=None)
        seen = 0

        def on_message(message: StoredMessage) -> None:
            nonlocal seen
            seen += 1
            if seen % EVERY_MESSAGES == 0:
                progress.update(task, description=f"{doing} {path.name}: seq {message.seq}")

        yield on_message
