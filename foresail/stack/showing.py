"""Shows a running stack: redrawn in place on a terminal, one line per decision elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from rich.live import Live

from bus.clock import Clock
from foresail.output import console
from foresail.stack.live_view import view
from foresail.stack.watch import Watch
from projections.event_text import decision_line
from projections.operating import OperatingState, operating_after
from projections.outage import outage_of
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.outcome import OutcomeExecution
from schemas.snapshot import SnapshotNodes

FRAMES_PER_SECOND = 4


async def show(
    watch: Watch, clock: Clock, header: str, pids: Callable[[], Mapping[str, int]]
) -> None:
    """Show what `watch` sees until cancelled."""
    out = console()
    if not out.is_terminal:
        watch.listeners.append(line_printer())
        await asyncio.Event().wait()
    with Live(
        console=out, refresh_per_second=FRAMES_PER_SECOND, screen=False, transient=True
    ) as live:
        while True:
            live.update(view(watch.overview, watch.notes, clock.wall_ns(), header, pids()))
            await clock.sleep(1 / FRAMES_PER_SECOND)


def line_printer() -> Callable[[Event[Any]], None]:
    """Return a listener that prints decisions with their execution, and outages, as lines."""
    waiting: dict[int, tuple[Decision, list[OutcomeExecution]]] = {}
    down = False
    operating = OperatingState()

    def take(event: Event[Any]) -> None:
        nonlocal down, operating
        before, operating = operating, operating_after(operating, event.data)
        _print_change(before, operating)
        if isinstance(event.data, SnapshotNodes):
            outage = outage_of(event.data)
            if (outage is not None) != down:
                text = "the cluster can be read again" if outage is None else outage.text()
                console().print(text, markup=False)
            down = outage is not None
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
                console().print(decision_line(decision, executions), markup=False)

    return take


def _print_change(before: OperatingState, after: OperatingState) -> None:
    """Print what the operator changed, one line each."""
    if after.hold != before.hold:
        text = after.hold_text() or "resumed: plans are executed again"
        console().print(text, markup=False)
    if after.mode != before.mode:
        console().print(f"mode {after.mode}", markup=False)
