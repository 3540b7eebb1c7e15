"""The log in memory: it can be told to forget what lies far behind its end."""

from __future__ import annotations

import asyncio

import pytest

from bus import memory_adapter
from bus.events import event_of
from bus.memory_adapter import Faults, MemoryBus, MemoryLog
from bus.port import Message, StoredMessage
from bus.virtual_loop import NothingToWaitFor, run_virtual
from schemas.config import Config
from schemas.envelope import NewEvent, stamp
from schemas.identity import Origin
from schemas.registry import encode


async def test_a_log_keeps_its_newest_messages() -> None:
    """Old messages go, positions stay, and the newest of each subject is still known."""
    log = MemoryLog(keep_messages=10)
    bus = MemoryBus(log, "test")
    once = Message("foresail.test.config.a", {"Nats-Msg-Id": "once"}, b"{}")
    await bus.publish([once])
    for number in range(50):
        headers = {"Nats-Msg-Id": f"n-{number}"}
        await bus.publish([Message("foresail.test.decision", headers, b"{}")])
    seqs = [message.seq async for message in bus.history(["foresail.>"])]

    assert list(range(51 - len(seqs) + 1, 52)) == seqs
    assert 10 <= len(seqs) <= 20
    assert (await bus.last(once.subject)) is not None
    assert (51, 52 - len(seqs)) == ((await bus.info()).last_seq, (await bus.info()).first_seq)


def configs(count: int) -> list[Message]:
    """Return so many events of one process, as they travel."""
    messages = []
    for number in range(count):
        config = Config(process=f"p{number}", config_hash="h", code_version="c", settings={})
        event = stamp(NewEvent(config, 0, float(number)), Origin("test", "i"), f"p{number}", "h")
        encoded = encode(event)
        messages.append(Message(encoded.subject, encoded.headers, encoded.data))
    return messages


async def test_readers_of_one_process_share_what_one_has_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A second reader gets the very event that the first has decoded; old ones are let go."""
    monkeypatch.setattr(memory_adapter, "DECODED_MESSAGES", 3)
    log = MemoryLog()
    first, second = MemoryBus(log, "test"), MemoryBus(log, "test")
    sent = configs(5)
    await first.publish(sent[:1])
    event = event_of(await anext(first.history(["foresail.>"])))
    assert event_of(await anext(second.history(["foresail.>"]))) is event
    for message in sent[1:]:
        await first.publish([message])
    again = event_of(await anext(second.history(["foresail.>"])))
    assert again is not event
    assert again == event


def test_a_feed_that_loses_nothing_sets_no_timer() -> None:
    """In virtual time a reader costs nothing while nothing comes."""

    async def read() -> StoredMessage:
        return await anext(MemoryBus(MemoryLog(), "test").read(["foresail.>"]))

    with pytest.raises(NothingToWaitFor):
        run_virtual(read)


@pytest.mark.parametrize(
    "faults", [Faults(lose_live=1.0), Faults(feed_messages=1), Faults(disconnect=1.0)], ids=str
)
def test_a_feed_that_may_lose_something_asks_for_it(faults: Faults) -> None:
    """What is lost while a reader waits is read all the same: its feed's silence says nothing."""

    async def read_all() -> list[int]:
        log = MemoryLog()
        bus, writer = MemoryBus(log, "test", faults), MemoryBus(log, "test")
        reader = bus.read(["foresail.>"])

        async def read_three() -> list[int]:
            return [(await anext(reader)).seq for _ in range(3)]

        reading = asyncio.create_task(read_three())
        await asyncio.sleep(0.1)  # it has caught up with the empty log, and waits
        if faults.disconnect:
            sending = asyncio.create_task(bus.publish(configs(4)[3:]))
            await asyncio.sleep(0.1)  # finds the connection down, and gives up
            sending.cancel()
        await writer.publish(configs(3))
        return await reading

    assert run_virtual(read_all) == [1, 2, 3]
