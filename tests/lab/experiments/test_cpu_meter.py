"""Processor time goes to the service that spent it, with what it started, and nothing else changes."""

from __future__ import annotations

import asyncio

import pytest

from foresail.experiment.cpu_meter import CpuMeter

STEPS = 200_000


async def work(steps: int) -> int:
    """Spend processor time, then let others go on, then spend more."""
    total = sum(range(steps))
    await asyncio.sleep(0)
    return total + sum(range(steps))


async def test_a_service_pays_for_what_it_starts() -> None:
    """A service that works in tasks of its own is dearer than one that waits."""
    meter = CpuMeter()
    answers: list[int] = []

    async def busy() -> None:
        answers.extend(await asyncio.gather(*(work(STEPS) for _ in range(5))))

    async def idle() -> None:
        await asyncio.sleep(0)

    await asyncio.gather(
        *(
            asyncio.create_task(meter.run(name, service))
            for name, service in (("busy", busy()), ("idle", idle()))
        )
    )
    assert answers == [2 * sum(range(STEPS))] * 5
    assert set(meter.seconds) == {"busy", "idle"}
    assert meter.seconds["busy"] > 10.0 * meter.seconds["idle"]


async def test_a_cancellation_and_an_error_come_through() -> None:
    """A metered service can be cancelled, cleans up, and its errors are its own."""
    meter, ended = CpuMeter(), asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    waiting = asyncio.create_task(meter.run("waits", waits()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()
    with pytest.raises(ValueError, match="broken"):
        await asyncio.create_task(meter.run("fails", fails()))
