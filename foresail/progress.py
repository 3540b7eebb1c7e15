"""Progress bars with the time that is left, on stderr, only when somebody looks at it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from bus.port import StoredMessage
from bus.recording.footer import stated_messages

EVERY_MESSAGES = 500
OnMessage = Callable[[StoredMessage], None]
Advance = Callable[[float], None]


@contextmanager
def reading(path: Path, doing: str) -> Iterator[OnMessage | None]:
    """Show how much of a recording was read; yields None when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with bar(f"{doing} {path.name}", stated_messages(path)) as advance_to:
        seen = 0

        def on_message(message: StoredMessage) -> None:
            nonlocal seen
            del message
            seen += 1
            if seen % EVERY_MESSAGES == 0:
                advance_to(seen)

        yield on_message


@contextmanager
def bar(what: str, total: float | None, console: Console | None = None) -> Iterator[Advance]:
    """Show a bar; yields what brings it to a number out of `total` (None: not known)."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("so far"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console or Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda reached: progress.update(task, completed=reached)


@contextmanager
def instead_of_log_lines(what: str, total: float, *, quiet: bool) -> Iterator[Advance | None]:
    """Show a bar on a terminal, and keep log lines below a warning off it; yields None elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        with bar(what, total) as advance_to:
            yield advance_to
    finally:
        structlog.configure(**before)
