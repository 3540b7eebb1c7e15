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
from projections.noop_text import noop_run_text, same_noop
from projections.operating import OperatingState, operating_after
from projections.outage import outage_of
from projections.stale import stale_text
from schemas.breaker import OutcomeBreaker
from schemas.decision import Decision, decision_line, is_noop
from schemas.envelope import Event
from schemas.foresight import OutcomeForesight, foresight_texts
from schemas.mismatch import OutcomeMismatch
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from schemas.promotion import OutcomeModels, judgement_texts
from schemas.snapshot import SnapshotNodes

FRAMES_PER_SECOND = 4
MOST_SILENT = 100
"""Decisions to do nothing after which a line says so again: whoever follows a file sees that it goes on."""


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
        lines = LinePrinter(printer.print)
        watch.listeners.append(lines)
        try:
            await asyncio.Event().wait()
        finally:
            lines.flush()
    live = Live(console=printer.console, auto_refresh=False, screen=False, transient=True)
    printer.call(live.start)
    try:
        while True:
            seen = view(watch.overview, watch.notes, clock.wall_ns(), header, pids())
            printer.call(partial(live.update, seen, refresh=True), newest_only=live.is_started)
            await clock.sleep(1 / FRAMES_PER_SECOND)
    finally:
        printer.call(live.stop, newest_only=True)


class LinePrinter:
    """A listener that prints decisions with what became of them, breakers, models and outages as lines.

    Decisions to do nothing that follow one another are one line at the first and one at the end of the run.
    """

    def __init__(self, print_line: Callable[[str], None]) -> None:
        """Print by `print_line`."""
        self._print = print_line
        self._waiting: dict[int, tuple[Decision, list[OutcomeExecution]]] = {}
        self._down = self._stale = False
        self._operating = OperatingState()
        self._noop: Decision | None = None
        self._silent: list[int] = []

    def __call__(self, event: Event[Any]) -> None:
        """Take the next event of the log."""
        for line in self._lines(event):
            self.flush()
            self._print(line)

    def flush(self) -> None:
        """Print the decisions to do nothing that were kept back; their run ends."""
        if self._noop is not None and self._silent:
            self._print(noop_run_text(self._silent[0], self._noop, len(self._silent)))
        self._noop, self._silent = None, []

    def _lines(self, event: Event[Any]) -> Iterator[str]:
        before, self._operating = self._operating, operating_after(self._operating, event.data)
        yield from _change_lines(before, self._operating)
        match event.data:
            case SnapshotNodes() as nodes:
                outage = outage_of(nodes)
                if (outage is not None) != self._down:
                    yield "the cluster can be read again" if outage is None else outage.text()
                self._down = outage is not None
            case Observation() as observed:
                yield from self._signals_lines(observed)
            case OutcomeBreaker() as change:
                yield change.text
            case OutcomeMismatch(state="begun", text=text):
                yield f"warning: {text}"
            case OutcomeMismatch(text=text):
                yield text
            case OutcomeModels() as judged:
                yield from _driving_lines(judged)
            case OutcomeForesight(before=before_shadows, shadows=shadows) as demand:
                yield from foresight_texts(demand) if before_shadows != shadows else ()
            case Decision() as decision:
                self._waiting[event.cycle] = (decision, [])
            case OutcomeExecution() as execution if execution.phase != "started":
                yield from self._answered(event.cycle, execution)

    def _signals_lines(self, observed: Observation) -> Iterator[str]:
        """Yield that all signals are stale, when it begins, and that it is over."""
        stale = stale_text(observed.signals)
        if (stale is not None) != self._stale:
            yield stale or "signals are fresh again"
        self._stale = stale is not None

    def _answered(self, cycle: int, execution: OutcomeExecution) -> Iterator[str]:
        """Yield a decision's line once each of its parts was answered."""
        if cycle not in self._waiting:
            return
        decision, executions = self._waiting[cycle]
        executions.append(execution)
        if len(executions) < len(decision.parts):
            return
        del self._waiting[cycle]
        if self._noop is not None and same_noop(self._noop, decision):
            self._silent.append(cycle)
            self._noop = decision
            if len(self._silent) == MOST_SILENT:
                self.flush()
            return
        yield decision_line(decision, [one.result for one in executions])
        if is_noop(decision):
            self._noop = decision


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
