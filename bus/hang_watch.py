"""Ends a process whose event loop hangs, after writing where it hung, so that its supervisor (the
stack, or a container engine, which does not restart unhealthy containers) starts it again.

A thread watches the loop. It sees deadlocks and calls that never return; a process that is stopped
as a whole (SIGSTOP) can only be noticed from outside.
"""

from __future__ import annotations

import asyncio
import faulthandler
import math
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from bus.clock import Clock
from bus.errors import ConfigError
from bus.exit_codes import ExitCode
from bus.failure_detector import FailureDetector, LivenessReport
from bus.health import LoopMonitor
from bus.processor_time import ProcessorMeter
from inputs.plain_numbers import parse_number

VARIABLE = "FORESAIL_HANG_SECONDS"
HANG_SECONDS = 10.0
ROUND_SECONDS = 0.5
SHARE_OF_OUTSIDE_LIMIT = 0.75
"""Share of the outside watcher's patience after which a process ends by itself."""

End = Callable[[float], None]


def hang_seconds(environment: Mapping[str, str]) -> float:
    """Return after how many seconds a loop that does not turn counts as hung; 0: never.

    Raises:
        ConfigError: the variable is no such number.
    """
    text = environment.get(VARIABLE) or str(HANG_SECONDS)
    try:
        seconds = parse_number(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0.0:
        raise ConfigError(VARIABLE, text, "give a number of seconds, or 0 for never")
    return seconds


def hang_variables(frozen_seconds: float) -> dict[str, str]:
    """Return the variables of a process that is watched from outside and replaced after
    `frozen_seconds`: it ends by itself before that, so that its log shows where it hung.
    """
    return {VARIABLE: f"{SHARE_OF_OUTSIDE_LIMIT * frozen_seconds:g}"}


@asynccontextmanager
async def hang_watchdog(
    environment: Mapping[str, str],
    clock: Clock,
    ready: Callable[[], bool],
    *,
    end: End | None = None,
) -> AsyncIterator[None]:
    """End this process when its event loop hangs while the block runs.

    Args:
        environment: FORESAIL_HANG_SECONDS, 10 unless set; a process that is not ready yet has ten
            minutes. What this process waits for a processor does not count.
        clock: what the loop and the thread are timed by.
        ready: whether the process has started.
        end: called with the seconds of silence, in the thread; shows every stack and ends the
            process unless given.

    Raises:
        ConfigError: FORESAIL_HANG_SECONDS is no number of seconds.
    """
    seconds = hang_seconds(environment)
    if not seconds:
        yield
        return
    monitor, stopped = LoopMonitor(clock), threading.Event()
    turning = asyncio.create_task(monitor.run(), name="hang-watch")
    arguments = (
        clock,
        monitor,
        FailureDetector(seconds),
        ready,
        stopped,
        end or dump_stacks_and_exit,
        ProcessorMeter(os.getpid()),
    )
    threading.Thread(target=_watch_loop, args=arguments, name="hang-watch", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()
        turning.cancel()
        await asyncio.gather(turning, return_exceptions=True)


def _watch_loop(
    clock: Clock,
    monitor: LoopMonitor,
    detector: FailureDetector,
    ready: Callable[[], bool],
    stopped: threading.Event,
    end: End,
    meter: ProcessorMeter,
) -> None:
    ready_at: float | None = None
    while True:
        began = clock.monotonic()
        if stopped.wait(ROUND_SECONDS):
            return
        now, is_ready = clock.monotonic(), ready()
        if is_ready and ready_at is None:
            ready_at = began
        # What kept the loop before it was ready was the start: the loop may say that it is ready
        # moments before it turns again.
        since_ready = math.inf if ready_at is None else now - ready_at
        age = min(monitor.age_seconds, since_ready)
        delayed = meter.since_last().delayed_seconds
        detector.observe(ROUND_SECONDS, now - began, LivenessReport(age, is_ready), delayed)
        if detector.frozen:
            end(detector.seconds)
            return


def dump_stacks_and_exit(seconds: float) -> None:
    """Write every thread's stack to standard error and end at once, without any cleanup: what hangs
    may hold any lock.
    """
    line = f"the event loop has not turned for {seconds:.1f} s; ending. Where each thread is:\n"
    os.write(2, line.encode())
    faulthandler.dump_traceback(file=sys.__stderr__ or 2, all_threads=True)
    os._exit(ExitCode.HUNG)
