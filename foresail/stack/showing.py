"""Shows a running stack: redrawn in place on a terminal, one line per decision elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from rich.live import Live

from bus.cancellation import cancel_and_wait
from bus.clock import Clock
from foresail.stack.live_view import view
from foresail.stack.printing import BackgroundPrinter
from foresail.stack.watch import Watch
from projections.event_text import decision_line
from projections.operating import OperatingState, operating_after
from projections.outage import LostSource, lost_sources, outage_of
from projections.promotion.text import judgement_texts
from schemas.breaker import OutcomeBreaker
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.left_behind import OutcomeLeftBehind
from schemas.outcome import OutcomeExecution
from schemas.promotion import OutcomeModels
from schemas.snapshot import SnapshotNodes

FRAMES_PER_SECOND = 4


async def show(
    watch: Watch, clock: Clock, header: str, pids: Callable[[], Mapping[str, int]]
) -> None:
    """Show what `watch` sees until cancelled; whoever reads the output may stop reading meanwhile.

    Raises:
        OSError: the output cannot be written any more.
    """
    printer = BackgroundPrinter()
    broken = asyncio.create_task(printer.wait_broken(), name="printer")
    showing = asyncio.create_task(_show(watch, clock, header, pids, printer), name="showing")
    try:
        done, _ = await asyncio.wait({broken, showing}, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        await cancel_and_wait(broken, showing)
        printer.close()


async def _show(
    watch: Watch,
    clock: Clock,
    header: str,
    pids: Callable[[], Mapping[str, int]],
    printer: BackgroundPrinter,
) -> None:
    if not printer.console.is_terminal:
        watch.listeners.append(line_printer(printer.print))
        await asyncio.Event().wait()
    live = Live(console=printer.console, auto_refresh=False, screen=False, transient=True)
    printer.call(live.start)
    try:
        while True:
            seen = view(watch.overview, watch.notes, clock.wall_ns(), header, pids())
            printer.call(partial(live.update, seen, refresh=True), newest_only=live.is_started)
            await clock.sleep(1 / FRAMES_PER_SECOND)
    finally:
        printer.call(live.stop, newest_only=True)


class _Readable:
    """What of the cluster can be read, so that each change is one line."""

    def __init__(self) -> None:
        """Begin with a cluster that can be read."""
        self._down = False
        self._lost: tuple[LostSource, ...] = ()

    def lines_after(self, snapshot: SnapshotNodes) -> Iterator[str]:
        """Yield a line for an outage, for each source that was lost, and for what came back."""
        outage = outage_of(snapshot)
        was_down, self._down = self._down, outage is not None
        if outage is not None:
            if not was_down:
                yield outage.text()
            return
        if was_down:
            yield "the cluster can be read again"
        before, self._lost = self._lost, lost_sources(snapshot)
        known, names = {one.source for one in before}, {one.source for one in self._lost}
        yield from (one.text() for one in self._lost if one.source not in known)
        yield from (f"{one.source} can be read again" for one in before if one.source not in names)


def line_printer(print_line: Callable[[str], None]) -> Callable[[Event[Any]], None]:
    """Return a listener that prints decisions with what became of them, breakers, models, outages, leftovers."""
    waiting: dict[int, tuple[Decision, list[OutcomeExecution]]] = {}
    readable = _Readable()
    operating = OperatingState()

    def take(event: Event[Any]) -> None:
        nonlocal operating
        before, operating = operating, operating_after(operating, event.data)
        for line in _change_lines(before, operating):
            print_line(line)
        if isinstance(event.data, SnapshotNodes):
            for line in readable.lines_after(event.data):
                print_line(line)
        elif isinstance(event.data, OutcomeBreaker | OutcomeLeftBehind):
            print_line(event.data.text)
        elif isinstance(event.data, OutcomeModels):
            for line in _driving_lines(event.data):
                print_line(line)
        elif isinstance(event.data, Decision):
            waiting[event.cycle] = (event.data, [])
        elif (
            isinstance(event.data, OutcomeExecution)
            and event.data.phase != "started"
            and event.cycle in waiting
        ):
            decision, executions = waiting[event.cycle]
            executions.append(event.data)
            if len(executions) == len(decision.parts):
                del waiting[event.cycle]
                print_line(decision_line(decision, executions))

    return take


def _driving_lines(judged: OutcomeModels) -> Iterator[str]:
    """Yield which model drives and how each stands, where that is new."""
    if judged.driving != judged.before:
        yield from judgement_texts(judged)


def _change_lines(before: OperatingState, after: OperatingState) -> Iterator[str]:
    """Yield what the operator changed, one line each."""
    if after.hold != before.hold:
        yield after.hold_text() or "resumed: plans are executed again"
    if after.mode != before.mode:
        yield f"mode {after.mode}"
