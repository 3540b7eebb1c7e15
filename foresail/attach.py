"""`foresail up --attach`: the live view of a stack that another terminal started."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from bus.clock import Clock, SystemClock
from bus.errors import InputError
from foresail import stopping
from foresail.log_source import connect
from foresail.output import console
from foresail.stack.showing import show
from foresail.stack.state_folder import NoStack, StackFile, StateFolder
from foresail.stack.watch import Watch

LOOK_BACK_EVENTS = 500
"""So many stored events are read first, so that the view is not empty."""
CHECK_SECONDS = 1.0
LEFT = "detached; the stack goes on running"
ENDED = "the stack has ended"


def attach(path: Path, for_seconds: float | None) -> str:
    """Show a running stack until Ctrl-C, its end, or for so many wall seconds; return why it ended.

    Raises:
        InputError: no stack runs in this state folder.
    """
    return stopping.run(_attach(path, for_seconds))


async def _attach(path: Path, for_seconds: float | None) -> str:
    state, clock = StateFolder(path), SystemClock()
    stack = state.read()
    if not stack.running:
        raise InputError("--attach", str(path), "no stack runs there; leave out --attach")
    console().print(f"attached to the stack of pid {stack.pid}; dashboard {stack.dashboard_url}")
    async with connect(stack, state) as bus:
        watch = Watch(bus, stack.cluster, None)
        watch.seq = max(0, (await bus.info()).last_seq - LOOK_BACK_EVENTS)
        stopped = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        end = asyncio.create_task(_wait_for_end(state, clock), name="end")
        tasks = {
            asyncio.create_task(watch.run_through_outages(clock), name="watch"),
            asyncio.create_task(_show(watch, clock, state, stack), name="show"),
            asyncio.create_task(stopped.wait(), name="signal"),
            end,
        }
        try:
            done, _ = await asyncio.wait(
                tasks, timeout=for_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return ENDED if end in done else LEFT


async def _show(watch: Watch, clock: Clock, state: StateFolder, stack: StackFile) -> None:
    header = (
        f"Foresail  {stack.cluster}/{stack.incarnation}  {stack.dashboard_url}  "
        "(attached; Ctrl-C leaves it running)"
    )

    def pids() -> Mapping[str, int]:
        with suppress(NoStack):
            now = state.read()
            return {**now.processes, **now.servers}
        return {}

    await show(watch, clock, header, pids)


async def _wait_for_end(state: StateFolder, clock: Clock) -> None:
    while state.read().running:
        await clock.sleep(CHECK_SECONDS)
