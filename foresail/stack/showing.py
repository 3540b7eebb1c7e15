"""Shows a running stack: redrawn in place on a terminal, one line per decision elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from rich.live import Live

from bus.clock import Clock
from foresail.output import console
from foresail.stack.live_view import decision_line, view
from foresail.stack.watch import Watch
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.outcome import OutcomeExecution

FRAMES_PER_SECOND = 4


async def show(
    watch: Watch, clock: Clock, header: str, pids: Callable[[], Mapping[str, int]]
) -> None:
    """Show what `watch` sees until cancelled."""
    out = console()
    if not out.is_terminal:
        watch.listeners.append(_line_printer())
        await asyncio.Event().wait()
    with Live(
        console=out, refresh_per_second=FRAMES_PER_SECOND, screen=False, transient=True
    ) as live:
        while True:
            live.update(view(watch.state, clock.wall_ns(), header, dict(pids())))
            await clock.sleep(1 / FRAMES_PER_SECOND)


def _line_printer() -> Callable[[Event[Any]], None]:
    waiting: dict[int, Decision] = {}

    def take(event: Event[Any]) -> None:
        if isinstance(event.data, Decision):
            waiting[event.cycle] = event.data
        elif (
            isinstance(event.data, OutcomeExecution)
            and event.data.phase != "started"
            and event.cycle in waiting
        ):
            console().print(decision_line(waiting.pop(event.cycle), event.data), markup=False)

    return take
