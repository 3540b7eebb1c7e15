"""A process without a log: signals, JSON log lines, health endpoints and the same exit codes as `bus.process`.

For what speaks to something else than NATS. Exit code 0: told to stop, and everything given back. 2: bad input, one
line on stderr. 3: another process does the same work. 71: its event loop hung. 1: anything else.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from bus.cancellation import cancel_and_wait
from bus.clock import Clock, SystemClock
from bus.hang_watch import hang_watchdog
from bus.health import HealthState, health_server
from bus.metrics import ProcessMetrics
from bus.process_start import run_to_end


@dataclass
class Readiness:
    """How far a process is, as `/readyz` says it."""

    state: str = "starting"
    """starting, live or stopping."""
    detail: Mapping[str, str] = field(default_factory=dict)

    @property
    def health(self) -> HealthState:
        """As the health endpoints take it."""
        return HealthState(self.state == "live", {"state": self.state, **self.detail})


@dataclass(frozen=True)
class PlainContext:
    """What the `main` of such a process gets."""

    clock: Clock
    environment: Mapping[str, str]
    stop: asyncio.Event
    """Set once the process is to end; `main` then ends by itself."""
    readiness: Readiness = field(default_factory=Readiness)


def run_plain_process(name: str, main: Callable[[PlainContext], Awaitable[None]]) -> int:
    """Run one process until SIGTERM or SIGINT; return the exit code."""
    return run_to_end(name, lambda: _run(name, main))


async def _run(name: str, main: Callable[[PlainContext], Awaitable[None]]) -> None:
    environment, clock, stop = dict(os.environ), SystemClock(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    context = PlainContext(clock, environment, stop)
    metrics = ProcessMetrics(name, "", "")
    readiness = context.readiness
    async with (
        hang_watchdog(environment, clock, lambda: readiness.state == "live"),
        health_server(environment, clock, metrics, lambda: readiness.health),
    ):
        task = asyncio.ensure_future(main(context))
        try:
            await task
        finally:
            await cancel_and_wait(task)
