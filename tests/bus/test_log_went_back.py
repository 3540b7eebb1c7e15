"""A log that lost what was read from it: readers and writers stop, and nobody goes on over the seam."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from bus.errors import AnotherWriter, LogWentBack
from bus.expectations import check_newest, check_signature
from bus.ordered_read import read_ordered
from bus.port import LogInfo, Message, Messages, StoredMessage

SUBJECT = "foresail.c.decision"
ALL = ["foresail.c.>"]


def message_at(seq: int, life: int = 0) -> StoredMessage:
    """Return the message at a position; in a later life it is another one."""
    return StoredMessage(seq, life * 1_000_000 + seq, SUBJECT, {}, b"%d" % life)


def log_of(first_seq: int, last_seq: int) -> LogInfo:
    """Return a log in numbers."""
    return LogInfo(first_seq, last_seq, last_seq - first_seq + 1, 0, -1, 0.0)


class ScriptedLog:
    """A log whose content is set by the test."""

    def __init__(self, count: int) -> None:
        self.messages = [message_at(seq) for seq in range(1, count + 1)]
        self.losses = 0
        self.feed: asyncio.Queue[StoredMessage] = asyncio.Queue()

    async def last_seq(self) -> int:
        """Return the position of the newest message."""
        return self.messages[-1].seq

    async def fetch(self, start_seq: int, end_seq: int) -> Messages:
        """Yield what is stored between two positions."""
        for message in [
            message for message in self.messages if start_seq <= message.seq <= end_seq
        ]:
            yield message

    def say(self, life: int = 0) -> None:
        """Store one more message and tell the feed."""
        self.messages.append(message_at(self.messages[-1].seq + 1, life))
        self.feed.put_nowait(self.messages[-1])

    def lose(self, kept: int, then: int = 0) -> None:
        """Drop the connection; come back with `kept` messages, and `then` others that nobody heard."""
        del self.messages[kept:]
        for _ in range(then):
            self.messages.append(message_at(len(self.messages) + 1, life=1))
        self.losses += 1

    def read(self, start_seq: int = 1) -> Messages:
        """Read as an adapter does."""
        return read_ordered(self, self.feed, ALL, start_seq, losses=lambda: self.losses)


async def test_a_shorter_log_stops_its_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five were read, three are left: a silent reader finds out and names both positions."""
    monkeypatch.setattr("bus.ordered_read.CHECK_SECONDS", 0.01)
    log = ScriptedLog(5)
    async with aclosing(log.read()) as messages:
        for _ in range(5):
            await anext(messages)
        del log.messages[3:]
        with pytest.raises(LogWentBack, match="position 5 was known here, and it ends at 3"):
            await anext(messages)


@pytest.mark.parametrize("then", [1, 2, 3, 9])
async def test_a_refilled_log_stops_its_readers(then: int) -> None:
    """Others wrote under the lost positions before we came back: shorter, equal or longer."""
    log = ScriptedLog(5)
    async with aclosing(log.read()) as messages:
        for _ in range(5):
            await anext(messages)
        log.lose(kept=3, then=then)
        log.say(life=1)
        with pytest.raises(LogWentBack):
            await anext(messages)


async def test_a_younger_message_of_an_old_position_is_noticed() -> None:
    """Also when nobody told of a lost connection, the feed's own time stamps give it away."""
    log = ScriptedLog(5)
    async with aclosing(log.read()) as messages:
        for _ in range(5):
            await anext(messages)
        del log.messages[3:]
        log.say(life=1)
        with pytest.raises(LogWentBack):
            await anext(messages)


async def test_a_lost_connection_alone_changes_nothing() -> None:
    """A server that comes back with everything is read on, late and doubled messages included."""
    log = ScriptedLog(5)
    async with aclosing(log.read()) as messages:
        seen = [(await anext(messages)).seq for _ in range(5)]
        log.losses += 1
        log.feed.put_nowait(message_at(3))
        log.feed.put_nowait(message_at(5))
        log.say()
        log.losses += 1
        log.say()
        seen += [(await anext(messages)).seq for _ in range(2)]

    assert [1, 2, 3, 4, 5, 6, 7] == seen


async def test_a_hole_where_the_newest_stood_stops_its_readers() -> None:
    """A server that lost messages 4 and 5 but counted on holds 1 to 3 and 6: that is a seam, too."""
    log = ScriptedLog(5)
    async with aclosing(log.read()) as messages:
        for _ in range(5):
            await anext(messages)
        log.losses += 1
        log.say()
        del log.messages[3:5]
        with pytest.raises(LogWentBack):
            await anext(messages)


async def test_what_retention_took_is_no_seam() -> None:
    """The last message read has expired meanwhile: there is nothing to compare, and nothing wrong."""
    log = ScriptedLog(5)
    async with aclosing(log.read()) as messages:
        for _ in range(5):
            await anext(messages)
        log.losses += 1
        log.say()
        del log.messages[:5]
        assert 6 == (await anext(messages)).seq


async def test_a_reader_from_beyond_the_end_stops() -> None:
    """Who has applied position 9 cannot go on in a log that ends at 5."""
    with pytest.raises(LogWentBack):
        await anext(ScriptedLog(5).read(start_seq=10))


@pytest.mark.parametrize(
    ("known", "newest", "log", "gone"),
    [
        (0, None, log_of(1, 0), False),  # nothing known, nothing there
        (4, 4, log_of(1, 9), False),  # as known
        (4, 7, log_of(1, 9), False),  # somebody wrote after us
        (7, 4, log_of(1, 9), True),  # ours is gone, an older one stands
        (7, None, log_of(1, 4), True),  # the log ends before ours
        (7, None, log_of(1, 9), True),  # it goes on, but without ours
        (7, None, log_of(8, 9), False),  # retention took ours
    ],
)
def test_a_writer_knows_what_happened_to_its_newest(
    known: int, newest: int | None, log: LogInfo, *, gone: bool
) -> None:
    """Truncation and retention are told apart by the log's first position."""
    actual = None if newest is None else message_at(newest)
    if gone:
        with pytest.raises(LogWentBack):
            check_newest(known, actual, log)
    else:
        check_newest(known, actual, log)


def test_a_signature_tells_two_processes_of_one_name_apart() -> None:
    """The same id from another connection is another writer; our own, and no signature, are not."""
    message = Message(SUBJECT, {}, b"")
    check_signature(message, "me", "me")
    check_signature(message, "me", "")

    with pytest.raises(AnotherWriter, match="from another process"):
        check_signature(message, "me", "somebody")
