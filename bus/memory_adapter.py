"""The bus in memory: the same contract as the NATS adapter, without a server, in one process.

Faults are drawn from a seed, so a failing run repeats exactly: publishes that fail before or after
they are stored, a live feed that loses, doubles, delays and reorders, and disconnects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

from bus.errors import BusUnavailable, MessageTooLarge
from bus.expectations import message_id, settle_refusal
from bus.ordered_read import matches_any, read_ordered
from bus.port import (
    HEADER_ROOM_BYTES,
    Heartbeats,
    LogInfo,
    Message,
    Messages,
    SharedMessage,
    StoredMessage,
)
from bus.streams import DUPLICATE_WINDOW_SECONDS, NANOSECONDS
from schemas.subjects import health as health_subject
from schemas.subjects import matches, unescape

MAX_MESSAGE_BYTES = 1024**2 - HEADER_ROOM_BYTES
"""As the NATS adapter: what works in memory works over a server."""
TRIES = 6
DECODED_MESSAGES = 500
"""Newest messages whose decoded events stay in memory for readers who come later; some tens of cycles."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How often things go wrong, as probabilities per message; all zero by default."""

    seed: int = 0
    drop_before_store: float = 0.0
    """The publish never arrives; the publisher sees a time-out."""
    drop_before_ack: float = 0.0
    """It is stored, but the publisher sees a time-out."""
    lose_live: float = 0.0
    """The live feed loses the message."""
    duplicate_live: float = 0.0
    delay_live: float = 0.0
    """The live message comes up to a second later, so also behind newer ones."""
    disconnect: float = 0.0
    """The connection drops for a while: publishes fail, the feed is silent."""
    disconnect_seconds: float = 0.5
    feed_messages: int = 0
    """Live messages kept for a slow reader; what comes beyond is lost to the feed. 0: all."""

    @property
    def lose_live_messages(self) -> bool:
        """Whether the live feed may lose something for good."""
        return bool(self.lose_live or self.disconnect or self.feed_messages)


@dataclass(slots=True)
class MemoryLog:
    """One stream: what every connection of a process group shares."""

    wall_ns: Callable[[], int] = field(default=lambda: 0)
    keep_messages: int | None = None
    """At least so many of the newest messages are kept; None: all."""
    first_seq: int = 1
    messages: list[SharedMessage] = field(default_factory=list)
    newest: dict[str, StoredMessage] = field(default_factory=dict)
    recent_ids: dict[str, StoredMessage] = field(default_factory=dict)
    feeds: list[Callable[[StoredMessage], None]] = field(default_factory=list)
    listeners: list[tuple[str, asyncio.Queue[tuple[str, bytes]]]] = field(default_factory=list)

    @property
    def last_seq(self) -> int:
        """Position of the newest message."""
        return self.first_seq + len(self.messages) - 1

    def newest_seq(self, subject: str) -> int:
        """Return the position of the newest message of a subject; 0 when there is none."""
        newest = self.newest.get(subject)
        return 0 if newest is None else newest.seq

    def store(self, messages: Sequence[Message], expected: Sequence[int]) -> tuple[int, ...] | None:
        """Store all or nothing; None when an expectation is out of date."""
        self._forget_ids()
        known = [self.recent_ids.get(message_id(dict(message.headers))) for message in messages]
        for message, seq in zip(messages, expected, strict=True):
            if self.newest_seq(message.subject) != seq:
                return None
        if known and all(message is not None for message in known):
            return tuple(message.seq for message in known if message is not None)
        stored = [self._append(message) for message in messages]
        for message_stored in stored:
            for feed in tuple(self.feeds):
                feed(message_stored)
        return tuple(message.seq for message in stored)

    def _append(self, message: Message) -> StoredMessage:
        stored = SharedMessage(
            self.last_seq + 1, self.wall_ns(), message.subject, dict(message.headers), message.data
        )
        self.messages.append(stored)
        if len(self.messages) > DECODED_MESSAGES:
            self.messages[-DECODED_MESSAGES - 1].decoded.clear()
        self.newest[message.subject] = stored
        name = message_id(stored.headers)
        self.recent_ids.pop(name, None)  # the oldest stand first
        self.recent_ids[name] = stored
        if self.keep_messages is not None and len(self.messages) > 2 * self.keep_messages:
            old = len(self.messages) - self.keep_messages
            del self.messages[:old]
            self.first_seq += old
        return stored

    def _forget_ids(self) -> None:
        limit = self.wall_ns() - DUPLICATE_WINDOW_SECONDS * NANOSECONDS
        while self.recent_ids:
            name, oldest = next(iter(self.recent_ids.items()))
            if oldest.time_ns >= limit:
                return
            del self.recent_ids[name]


class MemoryBus:
    """One connection to a `MemoryLog`; implements `bus.port.Bus`."""

    def __init__(self, log: MemoryLog, cluster: str, faults: Faults | None = None) -> None:
        """Connect; each connection has faults of its own."""
        self._log = log
        self._cluster = cluster
        self._faults = faults or Faults()
        self._random = Random(self._faults.seed)
        self._expected: dict[str, int] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._down_until = 0.0

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages, several as one atomic batch; see `bus.port.Bus.publish`."""
        for message in messages:
            if len(message.data) > MAX_MESSAGE_BYTES:
                raise MessageTooLarge(message.subject, len(message.data), MAX_MESSAGE_BYTES)
        locks = [
            self._locks.setdefault(name, asyncio.Lock())
            for name in sorted({message.subject for message in messages})
        ]
        for lock in locks:
            await lock.acquire()
        try:
            return await self._publish(messages)
        finally:
            for lock in locks:
                lock.release()

    def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield history, then live messages; see `bus.port.Bus.read`."""
        return self._read(tuple(subjects), start_seq)

    async def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is stored; see `bus.port.Bus.history`."""
        async for message in self.fetch(
            start_seq, self._log.last_seq if end_seq is None else end_seq
        ):
            if matches_any(subjects, message.subject):
                yield message

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        await asyncio.sleep(0)
        return self._log.newest.get(subject)

    async def info(self) -> LogInfo:
        """Return the log in numbers."""
        await asyncio.sleep(0)
        log = self._log
        size = sum(len(message.data) for message in log.messages)
        return LogInfo(log.first_seq, log.last_seq, len(log.messages), size, -1, 0.0)

    async def last_seq(self) -> int:
        """Return the position of the newest message."""
        await asyncio.sleep(0)
        return self._log.last_seq

    async def send_heartbeat(self, process: str, payload: bytes) -> None:
        """Send a heartbeat outside the log."""
        subject = health_subject(self._cluster, process)
        for pattern, queue in self._log.listeners:
            if matches(pattern, subject):
                queue.put_nowait((unescape(subject.rsplit(".", 1)[-1]), payload))

    async def heartbeats(self, process: str = "*") -> Heartbeats:
        """Yield (process, payload) of heartbeats."""
        listener = (health_subject(self._cluster, process), asyncio.Queue[tuple[str, bytes]]())
        self._log.listeners.append(listener)
        try:
            while True:
                yield await listener[1].get()
        finally:
            self._log.listeners.remove(listener)

    async def close(self) -> None:
        """Nothing waits in memory."""
        await asyncio.sleep(0)

    def leave_in_flight(self, messages: Sequence[Message], delay_seconds: float) -> None:
        """Let messages arrive after their sender has died: they were on the wire already."""
        expected = [
            self._expected.get(message.subject, self._log.newest_seq(message.subject))
            for message in messages
        ]
        loop = asyncio.get_running_loop()
        loop.call_later(delay_seconds, self._log.store, tuple(messages), expected)

    async def fetch(self, start_seq: int, end_seq: int) -> Messages:
        """Yield what is stored between two positions, both included, in order."""
        log = self._log
        for seq in range(max(start_seq, log.first_seq), min(end_seq, log.last_seq) + 1):
            if seq >= log.first_seq:  # it may have been dropped since the last one was taken
                yield log.messages[seq - log.first_seq]

    async def _publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        for _ in range(TRIES):
            await self._connection()
            if self._happens(self._faults.drop_before_store):
                continue
            expected = [
                self._expected.setdefault(message.subject, self._log.newest_seq(message.subject))
                for message in messages
            ]
            seqs = self._log.store(messages, expected)
            if seqs is not None and self._happens(self._faults.drop_before_ack):
                continue
            if seqs is None:
                newest = [self._log.newest.get(message.subject) for message in messages]
                for message, newest_message in zip(messages, newest, strict=True):
                    self._expected[message.subject] = (
                        0 if newest_message is None else newest_message.seq
                    )
                seqs = settle_refusal(messages, newest)
            if seqs is not None:
                for message, seq in zip(messages, seqs, strict=True):
                    self._expected[message.subject] = max(seq, self._expected[message.subject])
                return seqs
        raise BusUnavailable(f"{messages[0].subject} was not acknowledged")

    async def _connection(self) -> None:
        """Let other tasks run, and wait while the connection is down."""
        loop = asyncio.get_running_loop()
        if self._happens(self._faults.disconnect):
            self._down_until = loop.time() + self._faults.disconnect_seconds
        await asyncio.sleep(max(0.0, self._down_until - loop.time()))

    async def _read(self, patterns: tuple[str, ...], start_seq: int) -> Messages:
        feed: asyncio.Queue[StoredMessage] = asyncio.Queue(self._faults.feed_messages)
        loop = asyncio.get_running_loop()

        def put(message: StoredMessage) -> None:
            if not feed.full():
                feed.put_nowait(message)

        def on_message(message: StoredMessage) -> None:
            if loop.time() < self._down_until or self._happens(self._faults.lose_live):
                return
            copies = 2 if self._happens(self._faults.duplicate_live) else 1
            for _ in range(copies):
                if self._happens(self._faults.delay_live):
                    loop.call_later(self._random.random(), put, message)
                else:
                    put(message)

        self._log.feeds.append(on_message)
        try:
            loses = self._faults.lose_live_messages
            async for message in read_ordered(self, feed, patterns, start_seq, loses=loses):
                yield message
        finally:
            self._log.feeds.remove(on_message)

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self._random.random() < probability
