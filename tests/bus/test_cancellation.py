"""A task ends although a cancellation is lost on its way, and a service with it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from bus.cancellation import cancel_and_wait
from bus.errors import AnotherWriter
from bus.port import Message, Messages
from tests.bus.followed import HeldBus, TallyHandler, World, in_virtual_time
from tests.patience import HANGS_SECONDS


async def deaf(times: int) -> None:
    """Wait for ever; lose the first cancellations."""
    for _ in range(times):
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            continue
    await asyncio.sleep(3_600)


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_lost_cancellation_is_sent_again(lost: int) -> None:
    """However often a cancellation is lost, the task ends, and nobody is told how."""

    async def scenario(world: World) -> None:
        del world
        task = asyncio.ensure_future(deaf(lost))
        await asyncio.sleep(1)
        async with asyncio.timeout(HANGS_SECONDS):
            await cancel_and_wait(task)
        assert task.cancelled()

    in_virtual_time(scenario)


def test_how_a_task_failed_is_not_told() -> None:
    """A task that had failed already is only noted."""

    async def scenario(world: World) -> None:
        del world

        async def fails() -> None:
            raise ValueError("long ago")

        task = asyncio.ensure_future(fails())
        await asyncio.sleep(1)
        await cancel_and_wait(task)
        assert isinstance(task.exception(), ValueError)

    in_virtual_time(scenario)


class DeafBus(HeldBus):
    """A connection whose reader loses its first cancellation, and which has a rival."""

    async def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield messages; go on after the first cancellation."""
        async for message in super().read(subjects, start_seq=start_seq):
            yield message
            await deaf(1)

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Find that somebody else writes the subject."""
        raise AnotherWriter(messages[0].subject, "somebody else's")


def test_a_service_that_lost_its_subject_ends_although_its_reader_is_deaf() -> None:
    """What stops a service stops it: it must not live on without deciding anything."""

    async def scenario(world: World) -> None:
        world.bus = DeafBus(world.log)
        async with world.following(TallyHandler()) as running:
            await world.observe(1)
            ended, _ = await asyncio.wait({running}, timeout=HANGS_SECONDS)
            assert ended == {running}
            assert isinstance(running.exception(), AnotherWriter)

    in_virtual_time(scenario)
