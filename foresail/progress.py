"""Progress bars with the time that is left, on stderr, only when somebody looks at it; and a run's stages, where it is
written (`foresail.run_log`).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from bus.port import StoredMessage
from bus.recording.footer import stated_messages
from foresail.run_log import StageLog, stage

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY_MESSAGES = 500
OnMessage = Callable[[StoredMessage], None]
Advance = Callable[[float], None]


class _NoBars:
    """Progress that no terminal shows."""

    def add_task(self, what: str, total: float | None = None) -> None:
        """Take a task."""

    def update(self, task: object, **fields: object) -> None:
        """Take a change of it."""


class Counted(Protocol):
    """Something that is read message by message, such as a `foresail.log_source.Source`."""

    on_read: Callable[[int], None] | None

    async def length(self) -> int | None:
        """Return how many messages there are; None where that is not known."""
        ...


@contextmanager
def reading(path: Path, doing: str, *more: Path) -> Iterator[OnMessage | None]:
    """Show how much of one or more recordings was read; yields None when nobody sees it."""
    with stage(doing) as told:
        if not sys.stderr.isatty() and not told.written:
            yield None
            return
        with _counting(path, doing, more, told) as on_message:
            yield on_message


@contextmanager
def _counting(path: Path, doing: str, more: Iterable[Path], told: StageLog) -> Iterator[OnMessage]:
    stated = [stated_messages(one) for one in (path, *more)]
    known = [count for count in stated if count is not None]
    total = sum(known) if len(known) == len(stated) else None
    with _one_bar(f"{doing} {path.name}", total) as advance_to:
        seen = 0

        def on_message(message: StoredMessage) -> None:
            nonlocal seen
            del message
            seen += 1
            if seen % EVERY_MESSAGES == 0:
                advance_to(seen)
                told.advance(seen / total if total else 0.0, path.name, seen)

        yield on_message
        told.advance(1.0, path.name, seen)


def each(
    messages: Iterable[StoredMessage], on_message: OnMessage | None
) -> Iterator[StoredMessage]:
    """Yield messages on, each told to `on_message`."""
    for message in messages:
        if on_message is not None:
            on_message(message)
        yield message


@contextmanager
def reading_bytes(path: Path, doing: str) -> Iterator[Advance | None]:
    """Show how many bytes of a file were read; yields None when stderr is no terminal."""
    if not sys.stderr.isatty() or not path.is_file():
        yield None
        return
    with bar(f"{doing} {path.name}", path.stat().st_size) as advance_to:
        yield advance_to


@asynccontextmanager
async def reading_source(source: Counted, doing: str) -> AsyncIterator[None]:
    """Show how much of a log or recording was read inside the block; a second pass begins anew."""
    if not sys.stderr.isatty():
        yield
        return
    with bar(doing, await source.length()) as advance_to:

        def on_read(count: int) -> None:
            if count % EVERY_MESSAGES == 0:
                advance_to(count)

        source.on_read = on_read
        try:
            yield
        finally:
            source.on_read = None


@contextmanager
def doing_shares(what: str) -> Iterator[Callable[[str, float], None]]:
    """Show steps in words and the share of all that is done; yields what to tell both to."""
    with stage(what) as told, _bars() as progress:
        task: Any = progress.add_task(what, total=1.0)

        def advance(text: str, share: float) -> None:
            progress.update(task, description=text, completed=share)
            told.advance(share, text)

        yield advance


@contextmanager
def doing_stages(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show stages of which each counts anew; yields what to tell stage, done and all (0: not known)."""
    with _bars() as progress, ExitStack() as stages:
        task: Any = progress.add_task(what, total=None)
        told: StageLog | None = None

        def advance(text: str, done: int, all_: int) -> None:
            nonlocal told
            progress.update(task, description=text, completed=done, total=all_ or None)
            if told is None or told.name != text:
                stages.pop_all().close()
                told = stages.enter_context(stage(text))
            told.advance(done / all_ if all_ else 0.0, samples=done)

        yield advance


@contextmanager
def bar(what: str, total: float | None) -> Iterator[Advance]:
    """Show a bar; yields what brings it to a number out of `total` (None: not known)."""
    with stage(what) as told, _one_bar(what, total) as advance_to:

        def advance(reached: float) -> None:
            advance_to(reached)
            told.advance(reached / total if total else 0.0, samples=int(reached))

        yield advance


@contextmanager
def _one_bar(what: str, total: float | None) -> Iterator[Advance]:
    with _bars() as progress:
        task: Any = progress.add_task(what, total=total)
        yield lambda reached: progress.update(task, completed=reached)


def _bars() -> AbstractContextManager[Progress | _NoBars]:
    if not sys.stderr.isatty():
        return nullcontext(_NoBars())
    from rich.console import Console  # noqa: PLC0415 - 50 ms that only a terminal needs
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("so far"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


@contextmanager
def instead_of_log_lines(what: str, total: float, *, quiet: bool) -> Iterator[Advance | None]:
    """Show a bar on a terminal, and keep log lines below a warning off it; yields None elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    import structlog  # noqa: PLC0415 - as above

    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    try:
        with bar(what, total) as advance_to:
            yield advance_to
    finally:
        structlog.configure(**before)
