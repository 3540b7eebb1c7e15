"""The publishing half of a service: each id once, one cycle's tables together, settings when they change."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bus import follow
from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Message
from schemas.envelope import NewEvent
from schemas.model import EventData
from schemas.registry import decode
from tests.builders import ORIGIN, cycle_time, make_config, make_decision, make_snapshot


class CountingBus(MemoryBus):
    """Notes how many messages each publish held."""

    def __init__(self, log: MemoryLog) -> None:
        """Connect."""
        super().__init__(log, ORIGIN.cluster)
        self.batches: list[int] = []

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages and note how many they were."""
        self.batches.append(len(messages))
        return await super().publish(messages)


def new_event(data: EventData, cycle: int = 1) -> NewEvent:
    """Return a new event about one cycle."""
    return NewEvent(data, cycle, cycle_time(cycle))


async def test_an_event_is_published_once_however_often_it_is_owed() -> None:
    """Until its own event is applied the handler owes it again; nothing goes out then."""
    bus = CountingBus(MemoryLog())
    publisher = Publisher(bus, ORIGIN, "referee")

    first = await publisher.publish([new_event(make_decision())])
    again = await publisher.publish([new_event(make_decision())])

    assert (len(first), again, bus.batches) == (1, (), [1])


async def test_of_two_events_of_one_identity_the_first_counts() -> None:
    """Two answers about the same thing in one go: the first is stored, and it alone."""
    log = MemoryLog()
    publisher = Publisher(MemoryBus(log, ORIGIN.cluster), ORIGIN, "referee")

    said = await publisher.publish(
        [new_event(make_decision(rationale=word)) for word in ("the first", "another")]
    )

    assert [event.data.rationale for event in said] == ["the first"]  # type: ignore[attr-defined]
    stored = [
        decode(message.subject, message.headers, message.data).data for message in log.messages
    ]
    assert [message.rationale for message in stored] == ["the first"]  # type: ignore[attr-defined]


async def test_the_tables_of_one_cycle_go_as_one_batch_and_nothing_else_does() -> None:
    """A snapshot is stored whole or not at all; decisions of two cycles travel one by one."""
    bus = CountingBus(MemoryLog())

    await Publisher(bus, ORIGIN, "collector").publish([new_event(data) for data in make_snapshot()])
    assert bus.batches == [3]
    decisions = [new_event(make_decision(cycle=cycle), cycle) for cycle in (1, 2)]
    await Publisher(bus, ORIGIN, "referee").publish(decisions)
    assert bus.batches == [3, 1, 1]


async def test_settings_are_announced_when_they_are_not_the_newest() -> None:
    """A restart with the same settings publishes nothing; changed ones are stored, also those of before."""
    log = MemoryLog()
    bus = MemoryBus(log, ORIGIN.cluster)

    for number in (1, 1, 2, 2, 1, 1):
        await Publisher(bus, ORIGIN, "referee").publish_config(make_config(number=number), 1.0)

    stored = [
        decode(message.subject, message.headers, message.data).data for message in log.messages
    ]
    assert [message.settings["number"] for message in stored] == [1, 2, 1]  # type: ignore[attr-defined]
    assert len({message.headers["Nats-Msg-Id"] for message in log.messages}) == 3


async def test_the_newest_ids_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old ids make room for new ones; the bus' own window answers for what is still on its way."""
    monkeypatch.setattr(follow, "REMEMBERED_IDS", 2)
    bus = CountingBus(MemoryLog())
    publisher = Publisher(bus, ORIGIN, "referee")
    for cycle in (1, 2, 3):
        await publisher.publish([new_event(make_decision(cycle=cycle), cycle)])

    assert await publisher.publish([new_event(make_decision(cycle=3), 3)]) == ()
    assert await publisher.publish([new_event(make_decision(cycle=2), 2)]) == ()
