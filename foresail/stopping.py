"""Ctrl-C and SIGTERM: a verb ends soon, cleans up behind itself, and its exit code says that it was stopped.

asyncio answers Ctrl-C by cancelling the main task. A verb that computes for seconds without waiting for
anything never notices that: it ran to its end and answered as if nobody had asked. So a task that has
not ended PATIENCE_SECONDS after it was cancelled is interrupted where it stands, and whatever it then
answers, its caller learns that it was stopped.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 2.0
HANDLED = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether the user asked to stop, and the task that then has to end."""

    def __init__(self) -> None:
        self.requested = False
        self.task: asyncio.Task[Any] | None = None

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Answer a signal: cancel the verb's task, or interrupt at once what has none."""
        del number, frame
        first, self.requested = not self.requested, True
        if self.task is None or not first:
            raise KeyboardInterrupt
        self.task.cancel()
        self.task.get_loop().call_soon_threadsafe(lambda: None)  # wakes a loop that waits
        signal.signal(signal.SIGALRM, self.handle)  # not before: a caller may use the alarm
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_SECONDS)


_stop = StopRequest()
"""Signals belong to the process, and so does this."""


def run(
    verb: Coroutine[Any, Any, T],
    run_loop: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run,
) -> T:
    """Run a verb on an event loop of its own, which `run_loop` makes and ends.

    Raises:
        KeyboardInterrupt: it was stopped.
    """
    try:
        return run_loop(_run_watched(verb))
    except asyncio.CancelledError:
        if not _stop.requested:
            raise
        signal.setitimer(signal.ITIMER_REAL, 0.0)  # it has ended in time: its caller may clean up
        raise KeyboardInterrupt from None


async def _run_watched(verb: Coroutine[Any, Any, T]) -> T:
    _stop.task = asyncio.current_task()
    try:
        return await verb
    finally:
        _stop.task = None


@contextmanager
def stopping_by_signal() -> Iterator[None]:
    """Let SIGINT and SIGTERM stop what runs inside.

    Raises:
        KeyboardInterrupt: a stop was asked for, however the verb ended.
    """
    _stop.requested = False
    try:
        before = {number: signal.signal(number, _stop.handle) for number in HANDLED}
        before[signal.SIGALRM] = signal.getsignal(signal.SIGALRM)
    except ValueError:  # not the main thread: whoever runs us there owns the signals
        yield
        return
    try:
        yield
    except Exception as error:
        if _stop.requested:
            raise KeyboardInterrupt from error
        raise
    finally:
        if _stop.requested:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if _stop.requested:
        raise KeyboardInterrupt
