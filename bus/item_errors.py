"""Where the error of one item ends, so that the items after it go on.

A loop that handles one item after another (events, effects, sources, pages) puts each into `ItemErrors.item`. What it
raises is logged with its key and counted; a loop that fails again and again makes the process not ready. What no other
item would survive passes: another writer, a log that is away, wrong settings, no memory, cancellation. See ADR 0031.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from bus.errors import ForesailError, MessageTooLarge, NotPermitted, Temporary
from bus.events import event_of
from bus.port import Bus
from schemas import subjects
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.registry import UnknownEvent
from schemas.run import RunError

FAILING_AFTER = 3
"""Errors of one loop in a row after which the process is not ready."""
TEXT_LENGTH = 300
MOST_UNTOLD = 100


@dataclass(frozen=True, slots=True)
class ItemError:
    """An item that failed where the one before it, of the same loop, did not."""

    position: int | None
    """Position of the event that it is about; None where it is about none."""
    text: str


class ItemErrors:
    """Failures of one process, by loop."""

    def __init__(
        self,
        process: str,
        *,
        survives: bool = True,
        count: Callable[[str], None] = lambda _loop: None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        """Begin without an error.

        Args:
            process: who logs them.
            survives: whether the other items go on; a re-run or an experiment ends at the first defect.
            count: called with the loop's name for each error.
            report: called with a line for each, in place of the log of the process.
        """
        import structlog  # noqa: PLC0415 - a re-run imports handlers and loses nothing

        self._log = structlog.get_logger(process)
        self._survives = survives
        self._count = count
        self._report = report
        self._in_a_row: Counter[str] = Counter()
        self._stopped = ""
        self.counts: Counter[str] = Counter()
        """Errors since the start, by loop."""
        self.untold: deque[ItemError] = deque(maxlen=MOST_UNTOLD)
        """What no event in the log says yet."""

    def item(self, loop: str, key: object, position: int | None = None) -> Item:
        """Return the context of one item; `failed` says afterwards whether it raised.

        Args:
            loop: a name of few; errors in a row are counted by it.
            key: which item, for the log.
            position: see `ItemError`.
        """
        return Item(self, loop, key, position)

    @property
    def stopped(self) -> str:
        """Why the process only stays visible and does nothing more; empty while it works."""
        return self._stopped

    @property
    def trouble(self) -> str:
        """Why the process is not ready, in words; empty when it is."""
        failing = sorted(loop for loop, row in self._in_a_row.items() if row >= FAILING_AFTER)
        return self._stopped or (f"fails again and again: {', '.join(failing)}" if failing else "")

    def stop(self, why: str) -> None:
        """Do nothing more, without an end of the process: the next one would meet the same."""
        self._stopped = self._stopped or why
        self._log.error("stopped", why=why)

    def note_success(self, loop: str) -> None:
        """An item of the loop did not fail."""
        if loop in self._in_a_row:
            del self._in_a_row[loop]

    def take(
        self, loop: str, key: object, position: int | None, error: BaseException | None
    ) -> bool:
        """Return whether an item's error ends here."""
        if not isinstance(error, Exception) or _ends_the_process(error) or not self._survives:
            return False
        self.counts[loop] += 1
        self._in_a_row[loop] += 1
        self._count(loop)
        first = self._in_a_row[loop] == 1
        text = f"{loop}, {key}: {type(error).__name__}: {error}"[:TEXT_LENGTH]
        if self._report is None:
            trace = error if first else None
            self._log.error("an item failed", loop=loop, key=str(key), text=text, exc_info=trace)
        else:
            self._report(text)
        if first:
            self.untold.append(ItemError(position, text))
        return True

    async def tell(
        self,
        bus: Bus,
        origin: Origin,
        process: str,
        publish: Callable[[Sequence[NewEvent]], Awaitable[Any]],
        position: int,
        time_seconds: float,
    ) -> None:
        """Publish one `run.error` for each error that begins a row, each once over all restarts.

        `position` numbers those that are about no event: that of the log, or the cycle where a process reads none.
        """
        if not self.untold:
            return
        untold = [self.untold.popleft() for _ in range(len(self.untold))]
        newest = await _newest_told(bus, origin, process)
        try:
            for error in untold:
                number = position if error.position is None else error.position
                if number > newest:
                    newest = number
                    data = RunError(
                        run_id=origin.incarnation,
                        process=process,
                        sequence=number,
                        text=error.text,
                    )
                    await publish([NewEvent(data, 0, time_seconds)])
        except (
            NotPermitted,
            Temporary,
        ) as error:  # its account was made before it might say it, or no log is there
            self._log.warning("not told in the log", error=str(error))


class Item:
    """The boundary around one item."""

    __slots__ = ("_errors", "_key", "_loop", "_position", "failed", "text")

    def __init__(self, errors: ItemErrors, loop: str, key: object, position: int | None) -> None:
        """Guard one item of a loop."""
        self._errors, self._loop, self._key, self._position = errors, loop, key, position
        self.failed = False
        self.text = ""
        """What it raised; empty when it did not fail."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """End; an error that concerns this item alone goes no further."""
        del trace
        if kind is None:
            self._errors.note_success(self._loop)
            return False
        self.failed = self._errors.take(self._loop, self._key, self._position, error)
        self.text = f"{type(error).__name__}: {error}"[:TEXT_LENGTH]
        return self.failed


def _ends_the_process(error: Exception) -> bool:
    """Say whether the next item would fare no better."""
    return isinstance(error, MemoryError) or (
        isinstance(error, ForesailError) and not isinstance(error, MessageTooLarge)
    )


async def _newest_told(bus: Bus, origin: Origin, process: str) -> int:
    """Return the position in the newest `run.error` of a process in this run; 0: none."""
    stored = await bus.last(subjects.build(origin.cluster, (*RunError.PATTERN[:2], process)))
    try:
        data = None if stored is None else event_of(stored).data
    except UnknownEvent:
        return 0
    return data.sequence if isinstance(data, RunError) and data.run_id == origin.incarnation else 0


def ends_at_first_error(process: str) -> ItemErrors:
    """Return the errors of a re-run or an experiment, which a defect ends at once."""
    return ItemErrors(process, survives=False)
