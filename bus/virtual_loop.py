"""An event loop on virtual time: when nothing is ready, the clock jumps to the next timer.

The live code (sleeps, deadlines, time-outs) runs unmodified, as fast as possible and the same every
time: one thread, no sockets, no real clock. Anything that needs a thread is refused, and a loop
that waits for nothing at all says so instead of hanging.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class NothingToWaitFor(RuntimeError):
    """Every task waits and no timer is set: in virtual time that is for ever."""


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting for sockets, moves the loop's clock."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise NothingToWaitFor("every task waits and no timer is set")
        if timeout > 0:
            self.loop.jump(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose `time()` starts at 0 and moves only by jumps."""

    def __init__(self) -> None:
        """Begin at 0."""
        self._virtual_seconds = 0.0
        selector = _JumpingSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        """Return virtual seconds."""
        return self._virtual_seconds

    def jump(self, seconds: float) -> None:
        """Move on."""
        self._virtual_seconds += seconds

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
