"""Virtual time: hours pass in milliseconds, in order, and waiting for nothing is an error."""

from __future__ import annotations

import asyncio

import pytest

from bus.clock import LoopClock
from bus.virtual_loop import NothingToWaitFor, run_virtual


def test_an_hour_passes_at_once() -> None:
    """Sleeping moves the clock by exactly the time slept, wall time included."""

    async def main() -> tuple[float, int]:
        clock = LoopClock(start_wall_ns=5)
        await clock.sleep(3600)
        return clock.monotonic(), clock.wall_ns()

    assert (3600.0, 3_600_000_000_005) == run_virtual(main)


def test_timers_fire_in_order_of_time() -> None:
    """Tasks interleave as they would in real time."""
    said: list[str] = []

    async def say(name: str, every: float, times: int) -> None:
        for _ in range(times):
            await asyncio.sleep(every)
            said.append(f"{name}@{asyncio.get_running_loop().time():g}")

    async def main() -> None:
        await asyncio.gather(say("a", 2, 3), say("b", 3, 2))

    run_virtual(main)

    assert ["a@2", "b@3", "a@4", "b@6", "a@6"] == said


def test_timers_of_one_instant_fire_in_the_order_they_were_set() -> None:
    """First asked, first called, also when cancelled timers around them make the loop tidy up."""
    said: list[int] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        for number in range(400):
            timer = loop.call_at(5.0, said.append, number)
            if number % 4:
                timer.cancel()
            loop.call_at(5.0 + number, int).cancel()
        loop.call_at(1.0, int)
        await asyncio.sleep(6)

    run_virtual(main)

    assert list(range(0, 400, 4)) == said


def test_deadlines_work_unchanged() -> None:
    """Live code with time-outs runs as it is."""

    async def main() -> str:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 30)
        except TimeoutError:
            return f"timed out at {asyncio.get_running_loop().time():g}"
        return "?"

    assert "timed out at 30" == run_virtual(main)


def test_waiting_for_nothing_is_an_error() -> None:
    """A deadlock is named instead of hanging for ever."""

    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingToWaitFor, match="no timer is set"):
        run_virtual(main)


def test_threads_are_refused() -> None:
    """What runs beside the loop would make runs differ."""

    async def main() -> None:
        await asyncio.to_thread(print)

    with pytest.raises(RuntimeError, match="no threads in virtual time"):
        run_virtual(main)
