"""The stack as separate processes over a real nats-server.

Order up: folder lock, workload, nats-server, stream, cluster, services. Order down: sources first,
then everything that still has to answer the last cycle, then the recording is sealed, then the
servers stop. One keeper holds all of these processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

from bus.cancellation import cancel_and_wait
from bus.clock import SystemClock
from bus.errors import BusUnavailable, Permanent
from foresail import stopping
from foresail.output import console
from foresail.settings import StackSettings
from foresail.stack.bringing_up import RunningStack, bring_up, store
from foresail.stack.giving_back import give_back, summary_of
from foresail.stack.preflight import check_alone, check_before_start
from foresail.stack.processes import LAST_SERVICE
from foresail.stack.real_cluster import check_cluster, early_label, print_early_note
from foresail.stack.run_events import run_complete
from foresail.stack.showing import show
from foresail.stack.state_folder import StateFolder

LAST_SOURCE = 1
"""The largest `stop_order` of what brings something new: exerciser and collector."""
SETTLE_SECONDS = 5.0
"""How long the last cycle may take to be decided and executed after the collector has stopped."""
QUIET_SECONDS = 0.7
"""The log is taken to be at its end when nothing was stored for so long."""


def run_real_stack(settings: StackSettings, *, quiet: bool) -> dict[str, Any]:
    """Run until told to stop; return the summary.

    Raises:
        InputError: something given does not work; nothing is left running.
    """
    return stopping.run(_run(settings, quiet=quiet))


async def _run(settings: StackSettings, *, quiet: bool) -> dict[str, Any]:
    clock = SystemClock()
    check_alone(Path(settings.run.state_folder))
    check_before_start(settings)
    await check_cluster(settings)
    print_early_note(settings, quiet=quiet)
    state = StateFolder(Path(settings.run.state_folder))
    state.lock()
    state.note_death()
    state.forget_clusters()

    def say(text: str) -> None:
        if not quiet:
            console().print(text, markup=False)

    async with contextlib.AsyncExitStack() as cleanup:
        cleanup.callback(state.unlock)
        stack = await bring_up(settings, state, clock, cleanup, say)
        return await run_to_end(stack, _show(stack, quiet=quiet))


async def run_to_end(
    stack: RunningStack, showing: Coroutine[Any, Any, None], stop: asyncio.Event | None = None
) -> dict[str, Any]:
    """Run one cluster until its time is over or `stop`, bring it down in order, and return the summary.

    Without `stop`, SIGINT and SIGTERM stop it.

    Raises:
        InputError: a process was given up.
    """
    watching = asyncio.create_task(stack.watch.run_through_outages(stack.clock), name="watch")
    try:
        if stop is None:
            with stopped_by_signal() as stop:
                status = await _until_stopped(stack, watching, stop, showing)
        else:
            status = await _until_stopped(stack, watching, stop, showing)
    finally:
        await _bring_down(stack, watching)
    outage, left = stack.watch.overview.outage, stack.watch.overview.standing.left_behind
    summary = stack.watch.totals.summary() | {
        "status": status,
        "record": stack.settings.run.record,
        "cluster_outage": None if outage is None else outage.text(),
        **({} if left is None else {"left_behind": left.text}),
        **summary_of(stack.given_back),
    }
    await run_complete(stack.bus, stack.origin, summary, stack.clock.wall_ns() / 1e9, status)
    await stack.watch.finish()
    return summary


@contextlib.contextmanager
def stopped_by_signal() -> Iterator[asyncio.Event]:
    """Give an event that SIGINT and SIGTERM set inside; behind it, a second one ends the process."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def _until_stopped(
    stack: RunningStack,
    watching: asyncio.Task[None],
    stop: asyncio.Event,
    showing: Coroutine[Any, Any, None],
) -> str:
    """Show the run until its time is over, `stop` is set, or something fails for good; return how
    it ended.
    """
    waits = {
        asyncio.create_task(stop.wait(), name="signal"),
        asyncio.create_task(stack.keeper.wait_failure(), name="given-up"),
        asyncio.create_task(showing, name="show"),
        watching,
    }
    run = stack.settings.run
    if run.max_cycles is not None:
        enough = stack.watch.wait_decided(run.max_cycles, stack.clock)
        waits.add(asyncio.create_task(enough, name="max-cycles"))
    try:
        done, _ = await asyncio.wait(
            waits, timeout=run.for_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
        return "interrupted" if stop.is_set() else "complete"
    finally:
        await cancel_and_wait(*(waits - {watching}))


async def _show(stack: RunningStack, *, quiet: bool) -> None:
    if quiet:
        await asyncio.Event().wait()
    world = f"{stack.origin.cluster}/{stack.origin.incarnation}"
    what = stack.settings.run.workload if stack.workload else stack.plant.description
    parts = (
        "Foresail",
        world,
        what,
        early_label(stack.settings),
        stack.dashboard_url,
    )
    header = "  ".join([*filter(None, parts), "(Ctrl-C stops)"])
    await show(stack.watch, stack.clock, header, lambda: {**stack.services, **stack.servers})


async def _bring_down(stack: RunningStack, watching: asyncio.Task[None]) -> None:
    """Stop sources, let the last cycle be answered, then stop the rest and read the log to its end."""
    await stack.keeper.stop(LAST_SOURCE)
    with contextlib.suppress(BusUnavailable, Permanent):
        await _settle(stack)
    stack.given_back = await give_back(
        stack.settings, stack.watch, stack.log, stack.origin, stack.clock
    )
    await stack.keeper.stop(LAST_SERVICE)
    stack.running = False
    store(stack)
    await cancel_and_wait(watching)
    with contextlib.suppress(BusUnavailable, Permanent):
        await stack.watch.finish()


async def _settle(stack: RunningStack) -> None:
    """Wait until the newest observed cycle has its outcome, or the log stays quiet."""
    deadline = stack.clock.monotonic() + SETTLE_SECONDS
    while stack.clock.monotonic() < deadline:
        overview = stack.watch.overview
        observed = -1 if overview.observation is None else overview.observation.cycle
        done = overview.cycles.newest_executed
        before = stack.watch.seq
        await stack.clock.sleep(QUIET_SECONDS)
        if done >= observed and stack.watch.seq == before:
            return
