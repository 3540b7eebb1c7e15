"""Publishing to a nats-server: each message stored once, in order, or a named error.

Every publish states the position that it expects to be the newest of its subject, so trying again
is safe however the first try ended. When the log takes no more (its store or the disk is full), the
publisher waits, and so do the readers of its events; nothing is lost.
"""

from __future__ import annotations

import bus.lean_nats  # noqa: F401  # before nats itself

# isort: split

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import structlog
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from bus.errors import (
    BusUnavailable,
    MessageTooLarge,
    NotPermitted,
    Permanent,
)
from bus.expectations import check_newest, check_signature, settle_refusal
from bus.link import LinkCounts
from bus.nats_client import LightClient
from bus.nats_connection import ACK_SECONDS, MOVE_ON_TRIES, TRIES, short_error
from bus.nats_wire import (
    DUPLICATE_IN_BATCH,
    EXPECTED,
    NO_ROOM,
    SIGNATURE,
    TEMPORARY,
    WRONG_LAST_SEQUENCE,
    PublishAck,
    batch_headers,
    read_ack,
)
from bus.ordered_read import OrderedSource, check_unchanged
from bus.port import HEADER_ROOM_BYTES, LogInfo, Message, StoredMessage
from bus.replica_reads import Backoff

WINDOW = 256
"""Publishes that may wait for their ack at once."""
UNANSWERED_TRIES = 2
"""Publishes without an ack after which the server is asked whether it still answers anything."""
RECOVERY_SECONDS = 2.0
"""Seconds without a responder for a subject after which the publisher checks that the log exists."""
FIRST_ROOM_SECONDS = 0.5
LONGEST_ROOM_SECONDS = 10.0
"""Pauses between two tries on a log that takes no more."""

_log = structlog.get_logger("bus")


@dataclass(frozen=True, slots=True)
class NewestMessage:
    """The newest message of a subject, and who signed it."""

    message: StoredMessage | None
    signature: str = ""

    @property
    def seq(self) -> int:
        """Its position; 0 when there is none."""
        return 0 if self.message is None else self.message.seq


@dataclass(slots=True)
class _RetryState:
    """How often one publish was tried, and how long it may still take."""

    patience: Backoff
    failures: int = 0
    """Not answered, or not to be stored right now."""
    refusals: int = 0
    """Refused since something newer is stored."""
    pause: float = FIRST_ROOM_SECONDS


class LogQueries(OrderedSource, Protocol):
    """Queries of the publisher about the log."""

    async def newest(self, subject: str, at_least: int = 0) -> NewestMessage:
        """Return the newest message of one subject; a replica that lags behind `at_least` is given
        time.
        """
        ...

    async def info(self) -> LogInfo:
        """Return the log in numbers; raises BusUnavailable."""
        ...


class JetStreamPublisher:
    """The writing half of one connection."""

    def __init__(self, client: LightClient, reads: LogQueries, link: LinkCounts) -> None:
        """Publish over `client`; what happens is counted in `link`."""
        self._client = client
        self._reads = reads
        self._link = link
        self._signature = self._unique_token()
        self._expected: dict[str, int] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._window = asyncio.Semaphore(WINDOW)
        self._losses_checked = link.losses
        """Lost connections after which the log was compared."""

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages, several as one atomic batch; see `bus.port.Bus.publish`."""
        for message in messages:
            size, limit = len(message.data) + HEADER_ROOM_BYTES, self._client.max_payload
            if size > limit:
                raise MessageTooLarge(message.subject, size, limit)
        names = sorted({message.subject for message in messages})
        locks = [self._locks.setdefault(name, asyncio.Lock()) for name in names]
        async with self._window:
            for lock in locks:
                await lock.acquire()
            try:
                return await self._publish(messages)
            finally:
                for lock in locks:
                    lock.release()

    async def _publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        own = {message.subject for message in messages if message.subject in self._expected}
        tries = _RetryState(Backoff(asyncio.sleep, self._client.switch_server))
        while tries.refusals < TRIES:
            self._link.retries += tries.failures + tries.refusals > 0
            await self._check_after_reconnect()
            expected = {
                message.subject: await self._expected_seq(message.subject) for message in messages
            }
            if self._losses_checked != self._link.losses:
                continue  # the connection was lost while the positions were asked for
            ack = await self._send_once(messages, expected, tries)
            if ack is None:
                continue
            if ack.error_code == 0:
                self._link.trouble = ""
                return self._note_stored(messages, ack)
            if ack.error_code not in WRONG_LAST_SEQUENCE and ack.error_code != DUPLICATE_IN_BATCH:
                raise Permanent(
                    f"the log refused {messages[0].subject}: {ack.description} ({ack.error_code})"
                )
            in_flight = ack.error_code in WRONG_LAST_SEQUENCE
            settled = await self._resolve_refusal(messages, expected, own, in_flight=in_flight)
            if settled is not None:
                return settled
            if in_flight and self._expected.items() >= expected.items():
                # Nothing newer is stored: an earlier try of the same messages is still on its way
                # to the replicas, or the refusal came from one that is leader no more.
                await self._wait_and_retry(messages[0].subject, tries, ack.description)
            else:
                tries.refusals += 1
        raise BusUnavailable(f"{messages[0].subject} was refused {TRIES} times as out of date")

    async def _send_once(
        self, messages: Sequence[Message], expected: dict[str, int], tries: _RetryState
    ) -> PublishAck | None:
        """Send once; return the ack, or None when it has to be tried again."""
        subject = messages[0].subject
        try:
            ack = await self._send(messages, expected)
        except NoRespondersError as failure:
            await self._wait_for_leader(subject, tries, failure)
            return None
        except (NatsError, NatsTimeout, TimeoutError, OSError) as failure:
            tries.failures += 1
            for name in expected:
                if not self._client.may_publish(name):
                    raise NotPermitted(name) from failure
            if tries.failures == MOVE_ON_TRIES:
                await self._client.switch_server()
            if tries.failures >= UNANSWERED_TRIES:
                await self._check_alive(subject, failure)
                tries.pause = await self._wait_for_room("it acknowledges nothing", tries.pause)
            return None
        if ack.error_code in NO_ROOM:
            tries.pause = await self._wait_for_room(ack.description, tries.pause)
        elif ack.error_code in TEMPORARY:
            await self._wait_and_retry(subject, tries, ack.description)
        else:
            return ack
        return None

    async def _wait_for_leader(self, subject: str, tries: _RetryState, failure: Exception) -> None:
        """Wait a moment: a server that has just come back answers before its streams do, and a
        replicated log stores nothing until its next leader is elected.

        Raises:
            StreamMissing, JetStreamMissing: the log is not there.
            BusUnavailable: it has had no leader for longer than an election takes.
        """
        if tries.patience.waited_seconds > RECOVERY_SECONDS:
            await self._reads.info()
        try:
            await self._wait_and_retry(subject, tries, "nobody stores it")
        except BusUnavailable as error:
            raise error from failure

    async def _wait_and_retry(self, subject: str, tries: _RetryState, why: str) -> None:
        """Wait a moment before the next try; raises BusUnavailable when the trouble lasts."""
        tries.failures += 1
        if tries.patience.spent:
            raise BusUnavailable(f"{subject} is not stored ({why})")
        await tries.patience.wait()

    async def _check_alive(self, subject: str, failure: Exception) -> None:
        """Return when the server answers other questions.

        Raises:
            BusUnavailable: it does not.
        """
        try:
            await self._reads.info()
        except BusUnavailable as error:
            raise BusUnavailable(
                f"{subject} was not acknowledged by the nats-server ({short_error(failure)})"
            ) from error

    async def _wait_for_room(self, why: str, pause: float) -> float:
        """Wait `pause` seconds on a log that takes no more; return the next pause."""
        if not self._link.trouble:
            _log.warning("the log takes no more; waiting for room in its store", error=why)
        self._link.trouble = f"the log takes no more ({why})"
        await asyncio.sleep(pause)
        return min(2 * pause, LONGEST_ROOM_SECONDS)

    async def _resolve_refusal(
        self,
        messages: Sequence[Message],
        expected: dict[str, int],
        own: set[str],
        *,
        in_flight: bool,
    ) -> tuple[int, ...] | None:
        """Find out what a refusal means; see `bus.expectations`.

        None without a newer expectation: nothing newer is stored (`in_flight`: it may still be).
        """
        self._link.refusals += 1
        newest = [
            await self._reads.newest(message.subject, expected[message.subject])
            for message in messages
        ]
        if any(
            newest_message.seq < expected[message.subject]
            for message, newest_message in zip(messages, newest, strict=True)
        ):
            log = await self._reads.info()
            for message, newest_message in zip(messages, newest, strict=True):
                check_newest(expected[message.subject], newest_message.message, log)
        if in_flight and all(
            newest_message.seq == expected[message.subject]
            for message, newest_message in zip(messages, newest, strict=True)
        ):
            return None
        settled = settle_refusal(messages, [newest_message.message for newest_message in newest])
        for message, newest_message in zip(messages, newest, strict=True):
            if message.subject in own and newest_message.seq > expected[message.subject]:
                check_signature(message, self._signature, newest_message.signature)
            self._expected[message.subject] = newest_message.seq
        return settled

    async def _check_after_reconnect(self) -> None:
        """After a lost connection, check that the newest message we read or stored is still there.

        What was caused by a lost message must not be published, not even on a subject that has
        lost nothing.

        Raises:
            LogWentBack: it is gone.
        """
        losses = self._link.losses
        if losses == self._losses_checked:
            return
        for known in (self._expected, self._link.newest):
            subject = max(known, key=known.__getitem__, default="")
            if subject:
                seq = known[subject]
                newest = await self._reads.newest(subject, seq)
                if newest.seq < seq:
                    check_newest(seq, newest.message, await self._reads.info())
        # A log that has grown again shows positions as high as before, with other messages there.
        await check_unchanged(self._reads, self._link.read_before_loss)
        if losses == self._link.losses:
            self._link.read_before_loss = None
        self._losses_checked = losses

    async def _expected_seq(self, subject: str) -> int:
        if subject not in self._expected:
            self._expected[subject] = (await self._reads.newest(subject)).seq
        return self._expected[subject]

    async def _send(self, messages: Sequence[Message], expected: dict[str, int]) -> PublishAck:
        signed = [
            replace(message, headers={**message.headers, SIGNATURE: self._signature})
            for message in messages
        ]
        if len(signed) == 1:
            message = signed[0]
            headers = {**message.headers, EXPECTED: str(expected[message.subject])}
            reply = await self._client.request(
                message.subject, message.data, timeout=ACK_SECONDS, headers=headers
            )
            return read_ack(reply.data)
        headers_of = batch_headers(signed, self._unique_token(), expected)
        for message, headers in zip(signed[:-1], headers_of[:-1], strict=True):
            await self._client.publish(message.subject, message.data, headers=headers)
        last = signed[-1]
        reply = await self._client.request(
            last.subject, last.data, timeout=ACK_SECONDS, headers=headers_of[-1]
        )
        return read_ack(reply.data)

    def _unique_token(self) -> str:
        """Return a token that no connection will use again, this one included."""
        return self._client.new_inbox().rsplit(".", 1)[-1]

    def _note_stored(self, messages: Sequence[Message], ack: PublishAck) -> tuple[int, ...]:
        first = ack.seq - len(messages) + 1
        seqs = tuple(range(first, ack.seq + 1))
        for message, seq in zip(messages, seqs, strict=True):
            self._expected[message.subject] = seq
        self._link.note_seq(ack.seq)
        return seqs
