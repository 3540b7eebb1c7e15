"""An event loop on virtual time: when nothing is ready, the clock jumps to the next timer.

The live code (sleeps, deadlines, time-outs) runs unmodified, as fast as possible and the same every
time: one thread, no sockets, no real clock. Timers of one instant fire in the order they were set:
the standard library's heap leaves that open, and which came first would depend on what else waits.
Anything that needs a thread is refused, and a loop that waits for nothing at all says so instead of
hanging.
"""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class NothingToWaitFor(RuntimeError):
    """Every task waits and no timer is set: in virtual time that lasts forever."""


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting for sockets, moves the loop's clock."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingToWaitFor("every task waits and no timer is set")
        if timeout > 0:
            self.loop.jump(timeout)
        return []


class _OrderedTimer(asyncio.TimerHandle):
    """A timer that stands behind every timer of the same instant that was set before it."""

    def __init__(
        self,
        when: float,
        order: int,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: Context | None,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self._order = order
        self._scheduled = True  # the loop counts cancelled timers that still wait in its heap

    def __lt__(self, other: asyncio.TimerHandle) -> bool:
        if isinstance(other, _OrderedTimer):
            return (self.when(), self._order) < (other.when(), other._order)
        return super().__lt__(other)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose `time()` starts at 0 and moves only by jumps."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        """Begin at 0."""
        self._virtual_seconds = 0.0
        self._timers_set = 0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return virtual seconds."""
        return self._virtual_seconds

    def jump(self, seconds: float) -> None:
        """Move on."""
        self._virtual_seconds += seconds

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call back at a virtual second, after everything that was asked for then before."""
        self._timers_set += 1
        timer = _OrderedTimer(when, self._timers_set, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)
        return timer

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report what nobody caught, but no interruption: it ends the run, so whoever runs it has it already."""
        if not isinstance(context.get("exception"), KeyboardInterrupt):
            super().call_exception_handler(context)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> NoReturn:  # type: ignore[override]
        """Refuse threads: their timing would enter the result."""
        del executor, args
        raise RuntimeError(f"no threads in virtual time (asked to run {func!r})")


def run_virtual(main: Callable[[], Awaitable[T]]) -> T:
    """Run `main()` to its end on virtual time and cancel what it leaves.

    Raises:
        NothingToWaitFor: every task waits and no timer is set.
    """
    loop = VirtualLoop()

    async def to_end() -> T:
        return await main()

    try:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(to_end())
    finally:
        if not loop.is_closed():
            loop.close()
