"""Writers on a real server: two of one name, a log that lost its end, and a store without room."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from bus import nats_publish
from bus.errors import AnotherWriter, LogWentBack
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

pytestmark = pytest.mark.nats
DECLARATION = StreamDeclaration.of("c", "i1")
OTHER = "foresail.c.observation"


def message(number: int, subject: str = "foresail.c.decision", size: int = 2) -> Message:
    """Return the n-th message of a subject."""
    one = f"{subject}-{number}"
    return Message(subject, {"Nats-Msg-Id": one, "ce-id": one}, b" " * size)


async def connect(url: str) -> NatsBus:
    """Connect to the log."""
    return await NatsBus.connect(url, cluster="c", stream=DECLARATION.name)


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Give a server with the log."""
    running = NatsServer(tmp_path / "nats")
    await NatsBus.declare(await running.start(), DECLARATION)
    yield running
    await running.stop()


async def test_of_two_writers_exactly_one_stops(server: NatsServer) -> None:
    """Two processes of one name compute the same ids side by side: one of them stops at their first
    encounter, the other goes on, and each event is stored once.
    """
    buses = [await connect(server.url) for _ in range(2)]
    await asyncio.gather(*(bus.publish([message(0)]) for bus in buses))
    stopped: list[int] = []

    async def write(index: int) -> None:
        for number in range(1, 200):
            try:
                await buses[index].publish([message(number)])
            except AnotherWriter:
                stopped.append(index)
                return

    await asyncio.gather(write(0), write(1))
    found = [message.headers["ce-id"] async for message in buses[0].history(["foresail.c.>"])]
    for bus in buses:
        await bus.close()

    assert 1 == len(stopped)
    assert [message(number).headers["ce-id"] for number in range(200)] == found


async def test_a_signature_is_no_part_of_an_event(server: NatsServer) -> None:
    """Who reads, live or later, gets the headers that were published."""
    bus = await connect(server.url)
    async with aclosing(bus.read(["foresail.c.>"])) as messages:
        await bus.publish([message(1)])
        await bus.publish([message(2), message(1, OTHER)])
        live = [dict((await anext(messages)).headers) for _ in range(3)]
    last = await bus.last(OTHER)
    await bus.close()

    assert last is not None
    assert [
        dict(message.headers) for message in (message(1), message(2), message(1, OTHER))
    ] == live
    assert dict(message(1, OTHER).headers) == dict(last.headers)


async def test_a_log_that_lost_its_end_is_noticed(server: NatsServer, tmp_path: Path) -> None:
    """The store is put back to an earlier copy under a stopped server, as after a power failure:
    readers and writers that know more stop with the reason, fresh ones go on.
    """
    writer, quiet, reader = [await connect(server.url) for _ in range(3)]
    await quiet.publish([message(0, OTHER)])
    for number in range(5):
        await writer.publish([message(number)])
    async with aclosing(reader.read(["foresail.c.>"])) as messages:
        await server.stop()
        shutil.copytree(tmp_path / "nats", tmp_path / "copy")
        await server.restart()
        for number in range(5, 9):
            await writer.publish([message(number)])
        for _ in range(10):
            await anext(messages)
        await server.stop()
        shutil.rmtree(tmp_path / "nats")
        shutil.copytree(tmp_path / "copy", tmp_path / "nats")
        await server.restart()
        await quiet.publish([message(1, OTHER)])
        with pytest.raises(LogWentBack):
            await anext(messages)
    with pytest.raises(LogWentBack, match="position 10 was known here"):
        await writer.publish([message(9)])
    again = await connect(server.url)
    assert (8,) == await again.publish([message(9)])
    for bus in (writer, quiet, reader, again):
        await bus.close()


async def test_a_new_log_of_the_same_name_is_noticed(server: NatsServer, tmp_path: Path) -> None:
    """A server that comes back with an empty stream of the same name is not the log that was read."""
    writer, reader = await connect(server.url), await connect(server.url)
    for number in range(3):
        await writer.publish([message(number)])
    async with aclosing(reader.read(["foresail.c.>"])) as messages:
        for _ in range(3):
            await anext(messages)
        await server.stop()
        shutil.rmtree(tmp_path / "nats")
        await server.restart()
        await NatsBus.declare(server.url, DECLARATION)
        with pytest.raises(LogWentBack):
            await anext(messages)
    with pytest.raises(LogWentBack):
        await writer.publish([message(3)])
    for bus in (writer, reader):
        await bus.close()


async def test_a_full_store_makes_writers_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store at its limit stores nothing and loses nothing: the writer says so and waits, and goes
    on as soon as there is room.
    """
    monkeypatch.setattr(nats_publish, "LONGEST_ROOM_SECONDS", 0.5)
    unbounded = StreamDeclaration.of("c", "i1", max_bytes=-1)
    small = NatsServer(tmp_path / "nats", max_file_store="2MB")
    await NatsBus.declare(await small.start(), unbounded)
    bus = await connect(small.url)
    stored: list[int] = []

    async def write() -> None:
        for number in range(20):
            stored.extend(await bus.publish([message(number, size=200_000)]))

    writing = asyncio.create_task(write())
    async with asyncio.timeout(HANGS_SECONDS):
        while not bus.link().trouble:
            await asyncio.sleep(0.05)
    full = len(stored)
    assert "insufficient resources" in bus.link().trouble
    assert 0 < full < 20
    await small.stop()
    small.max_file_store = "1GB"
    await small.restart()
    async with asyncio.timeout(HANGS_SECONDS):
        await writing
    assert list(range(1, 21)) == stored
    assert not bus.link().trouble
    await bus.close()
    await small.stop()


async def test_nothing_is_published_upon_a_lost_message(server: NatsServer, tmp_path: Path) -> None:
    """What we stored on one subject is gone: also on another one, where nothing is, we stop."""
    writer = await connect(server.url)
    await writer.publish([message(0, OTHER)])
    await server.stop()
    shutil.copytree(tmp_path / "nats", tmp_path / "copy")
    await server.restart()
    await writer.publish([message(1)])
    await server.stop()
    shutil.rmtree(tmp_path / "nats")
    shutil.copytree(tmp_path / "copy", tmp_path / "nats")
    await server.restart()

    with pytest.raises(LogWentBack, match="position 2 was known here"):
        await writer.publish([message(2, OTHER)])
    await writer.close()


async def test_what_follows_from_a_lost_message_is_not_published_over_a_log_that_grew_again(
    server: NatsServer, tmp_path: Path
) -> None:
    """Others have filled the lost positions before we are back: their height says nothing, what stands there does."""
    writer, follower = await connect(server.url), await connect(server.url)
    await writer.publish([message(0, OTHER)])
    await server.stop()
    shutil.copytree(tmp_path / "nats", tmp_path / "copy")
    await server.restart()
    await writer.publish([message(1, OTHER)])
    async with aclosing(follower.read(["foresail.c.>"])) as messages:
        for _ in range(2):
            await anext(messages)
        await server.stop()
        shutil.rmtree(tmp_path / "nats")
        shutil.copytree(tmp_path / "copy", tmp_path / "nats")
        await server.restart()
        successor = await connect(server.url)
        for number in range(2, 6):
            await successor.publish([message(number, OTHER)])

        with pytest.raises(LogWentBack, match="position 2 was known here"):
            await follower.publish([message(0)])
    await asyncio.gather(*(bus.close() for bus in (writer, follower, successor)))
