"""One contract, every adapter: memory, memory with faults, and a real nats-server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from bus.errors import AnotherWriter, MessageTooLarge
from bus.memory_adapter import Faults, MemoryBus, MemoryLog
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Bus, Message, StoredMessage
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

CLUSTER = "c"
EVERYTHING = [f"foresail.{CLUSTER}.>"]
FAULTS = Faults(
    seed=11,
    drop_before_store=0.1,
    drop_before_ack=0.15,
    lose_live=0.2,
    duplicate_live=0.2,
    delay_live=0.2,
    disconnect=0.02,
    disconnect_seconds=0.05,
)

Connect = Callable[[], "asyncio.Future[Bus]"]


def message(tail: str, identity: str, data: bytes = b"{}") -> Message:
    """Return a message with an id."""
    return Message(f"foresail.{CLUSTER}.{tail}", {"Nats-Msg-Id": identity, "ce-id": identity}, data)


async def take(
    bus: Bus, count: int, *, start_seq: int = 1, subjects: list[str] = EVERYTHING
) -> list[StoredMessage]:
    """Read `count` messages."""
    found: list[StoredMessage] = []
    async with (
        asyncio.timeout(HANGS_SECONDS),
        aclosing(bus.read(subjects, start_seq=start_seq)) as messages,
    ):
        async for message in messages:
            found.append(message)
            if len(found) == count:
                return found
    return found


@pytest_asyncio.fixture(params=["memory", "memory-with-faults", "nats"])
async def connect(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Callable[[], object]]:
    """Give a function that opens connections to one log."""
    opened: list[Bus] = []
    if request.param == "nats":
        server = NatsServer(tmp_path / "nats")
        url = await server.start()
        declaration = StreamDeclaration.of(CLUSTER, "i1")
        await NatsBus.declare(url, declaration)

        async def open_nats() -> Bus:
            bus = await NatsBus.connect(url, cluster=CLUSTER, stream=declaration.name)
            opened.append(bus)
            return bus

        yield open_nats
        for bus in opened:
            await bus.close()
        await server.stop()
        return
    log = MemoryLog()
    faults = FAULTS if request.param == "memory-with-faults" else Faults()

    async def open_memory() -> Bus:
        return MemoryBus(log, CLUSTER, faults)

    yield open_memory


async def test_what_is_published_is_read_in_order(connect: Callable[[], Connect]) -> None:
    """Every message is read once, in the order of its position, with its headers and bytes."""
    bus = await connect()
    for number in range(60):
        await bus.publish([message("decision", f"d{number}", b"%d" % number)])

    actual = await take(bus, 60)

    assert [b"%d" % number for number in range(60)] == [event.data for event in actual]
    assert list(range(1, 61)) == [message.seq for message in actual]
    assert "d0" == actual[0].headers["ce-id"]


async def test_a_reader_gets_history_and_then_live_messages(connect: Callable[[], Connect]) -> None:
    """A reader attached in the middle misses nothing and reads nothing twice."""
    writer, reader = await connect(), await connect()
    for number in range(10):
        await writer.publish([message("a", f"a{number}")])
    reading = asyncio.create_task(take(reader, 30))
    for number in range(10, 30):
        await writer.publish([message("a", f"a{number}")])
        await asyncio.sleep(0.001)

    assert [f"a{number}" for number in range(30)] == [
        message.headers["ce-id"] for message in await reading
    ]


async def test_a_pattern_selects_subjects(connect: Callable[[], Connect]) -> None:
    """Only matching subjects are yielded; positions of the others are passed over."""
    bus = await connect()
    for number in range(6):
        await bus.publish([message("a" if number % 2 else "outcome.b", f"m{number}")])

    actual = await take(bus, 3, subjects=[f"foresail.{CLUSTER}.outcome.*"])

    assert [1, 3, 5] == [message.seq for message in actual]


async def test_history_ends(connect: Callable[[], Connect]) -> None:
    """History stops at the newest message, or at the position asked for."""
    bus = await connect()
    for number in range(5):
        await bus.publish([message("a", f"m{number}")])

    assert [1, 2, 3, 4, 5] == [message.seq async for message in bus.history(EVERYTHING)]
    assert [2, 3] == [
        message.seq async for message in bus.history(EVERYTHING, start_seq=2, end_seq=3)
    ]


async def test_the_newest_message_of_a_subject_is_found(connect: Callable[[], Connect]) -> None:
    """`last` returns the newest message of exactly one subject, or None."""
    bus = await connect()
    await bus.publish([message("a", "1")])
    await bus.publish([message("b", "2")])
    await bus.publish([message("a", "3")])

    newest = await bus.last(f"foresail.{CLUSTER}.a")

    assert newest is not None
    assert "3" == newest.headers["ce-id"]
    assert await bus.last(f"foresail.{CLUSTER}.none") is None


async def test_several_messages_are_stored_together(connect: Callable[[], Connect]) -> None:
    """A batch gets neighbouring positions."""
    bus = await connect()
    seqs = await bus.publish([message("x", "x1"), message("y", "y1"), message("z", "z1")])

    assert (1, 2, 3) == tuple(seqs)
    assert 3 == (await bus.info()).last_seq


async def test_publishing_the_same_again_stores_it_once(connect: Callable[[], Connect]) -> None:
    """After a lost ack a writer, also a restarted one, may publish again: single or batch, the log
    keeps one.
    """
    first, restarted = await connect(), await connect()
    batch = [message("x", "x1"), message("y", "y1")]
    await first.publish([message("a", "a1")])
    await first.publish(batch)

    assert (1,) == tuple(await first.publish([message("a", "a1")]))
    assert (1,) == tuple(await restarted.publish([message("a", "a1")]))
    assert (2, 3) == tuple(await restarted.publish(batch))
    assert 3 == (await first.info()).last_seq


async def test_another_writer_is_noticed(connect: Callable[[], Connect]) -> None:
    """When somebody else has written our subject, we stop instead of interleaving."""
    ours, theirs = await connect(), await connect()
    await ours.publish([message("decision", "ours-1")])
    await theirs.publish([message("decision", "theirs-1")])

    with pytest.raises(AnotherWriter, match="theirs-1"):
        await ours.publish([message("decision", "ours-2")])


async def test_a_refused_batch_stores_nothing(connect: Callable[[], Connect]) -> None:
    """All or nothing: when one subject is not ours, no part of the batch is stored."""
    ours, theirs = await connect(), await connect()
    await ours.publish([message("x", "x1"), message("y", "y1")])
    await theirs.publish([message("y", "theirs")])

    with pytest.raises(AnotherWriter):
        await ours.publish([message("x", "x2"), message("y", "y2")])

    newest = await ours.last(f"foresail.{CLUSTER}.x")
    assert newest is not None
    assert "x1" == newest.headers["ce-id"]


@pytest.mark.parametrize("more", [[], ["z"]], ids=["single", "batch"])
async def test_a_writer_that_believes_a_subject_empty_is_refused(
    connect: Callable[[], Connect], more: list[str]
) -> None:
    """Nothing stood on the subject when we looked, and somebody has written it since: our first message
    there is refused like any other.
    """
    ours, theirs = await connect(), await connect()
    await ours.publish([message("y", "y1")])
    await theirs.publish([message("y", "theirs-y")])
    with pytest.raises(AnotherWriter):  # we looked at x, and nothing was stored there
        await ours.publish([message("x", "x1"), message("y", "y2")])
    await theirs.publish([message("x", "theirs-x")])

    with pytest.raises(AnotherWriter, match="theirs-x"):
        await ours.publish([message("x", "x2"), *(message(name, name) for name in more)])

    actual = [message.headers["ce-id"] async for message in ours.history(EVERYTHING)]
    assert ["y1", "theirs-y", "theirs-x"] == actual


async def test_a_message_over_the_limit_is_refused_here(connect: Callable[[], Connect]) -> None:
    """A message the server would refuse is named with its size before it is sent."""
    bus = await connect()

    with pytest.raises(MessageTooLarge, match="over the limit"):
        await bus.publish([message("a", "big", b"x" * (1024 * 1024))])


async def test_publishes_on_many_subjects_run_side_by_side(connect: Callable[[], Connect]) -> None:
    """Concurrent publishes all arrive, each subject in its own order."""
    bus = await connect()

    async def write(name: str) -> None:
        for number in range(20):
            await bus.publish([message(name, f"{name}-{number}")])

    await asyncio.gather(*(write(f"s{index}") for index in range(8)))
    messages = [message async for message in bus.history(EVERYTHING)]

    assert 160 == len(messages)
    for index in range(8):
        own = [
            message.headers["ce-id"]
            for message in messages
            if message.subject.endswith(f".s{index}")
        ]
        assert [f"s{index}-{number}" for number in range(20)] == own


async def test_heartbeats_travel_outside_the_log(connect: Callable[[], Connect]) -> None:
    """A heartbeat reaches listeners and leaves no trace in the log."""
    bus, listener = await connect(), await connect()
    async with aclosing(listener.heartbeats()) as heartbeats:
        first = asyncio.ensure_future(anext(heartbeats))
        while not first.done():
            await bus.send_heartbeat("referee", b"alive")
            await asyncio.sleep(0.01)
        result = first.result()

    assert ("referee", b"alive") == result
    assert 0 == (await bus.info()).last_seq
