"""The bus over a real nats-server: the only file that opens a NATS connection.

Publishing is windowed and asynchronous; each message states the position it expects to be the
newest of its subject. History comes by direct get, without consumers, so nothing a reader does
changes the server. The live feed is the stream's republish on `live.foresail.<cluster>.>`; its
holes are filled by position.
"""

from __future__ import annotations

import bus.lean_nats  # noqa: F401  # before nats itself

# isort: split

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout

from bus.errors import (
    BusUnavailable,
    JetStreamMissing,
    StreamMissing,
)
from bus.link import LinkCounts
from bus.login import ANONYMOUS, Login
from bus.nats_administration import declare, remove
from bus.nats_client import LightClient
from bus.nats_connection import (
    ACK_SECONDS,
    MOVE_ON_TRIES,
    RESPONDER_SECONDS,
    TRIES,
    connect_client,
    short_error,
)
from bus.nats_publish import JetStreamPublisher, NewestMessage
from bus.nats_wire import (
    BATCH_END,
    NOT_FOUND,
    SIGNATURE,
    STREAM_NOT_FOUND,
    TEMPORARY,
    parse_got_message,
    position_only,
    status_of,
    stored_message,
)
from bus.ordered_read import matches_any, read_ordered
from bus.port import Heartbeats, LogInfo, Message, Messages, StoredMessage
from bus.replica_reads import Backoff, is_led, read_without_holes
from bus.streams import NANOSECONDS
from schemas import subjects

FETCH_MESSAGES = 256
FETCH_BYTES = 4 * 1024**2
FEED_MESSAGES = 4_096
"""Live messages kept for a slow reader; what is dropped beyond is fetched by position."""


class NatsBus:
    """One process' connection to the log; implements `bus.port.Bus`."""

    def __init__(
        self, client: LightClient, cluster: str, stream: str, link: LinkCounts, api_prefix: str
    ) -> None:
        """Use `connect`."""
        self._get = f"{api_prefix}.DIRECT.GET.{stream}"
        self._info = f"{api_prefix}.STREAM.INFO.{stream}"
        self._get_of_leader = f"{api_prefix}.STREAM.MSG.GET.{stream}"
        self._replicated = False
        self._client = client
        self._cluster = cluster
        self._stream = stream
        self._everything = subjects.pattern(cluster, (">",))
        self._link = link
        self._publisher = JetStreamPublisher(client, self, link)

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        cluster: str,
        stream: str,
        name: str = "foresail",
        login: Login = ANONYMOUS,
    ) -> NatsBus:
        """Connect to an existing log.

        Raises:
            BusUnavailable, ConfigError, ServerTooOld, JetStreamMissing, StreamMissing: see there.
        """
        await (await connect_client(url, name=name, login=login, retry=False)).close()
        link = LinkCounts()
        client = await connect_client(
            url, name=name, login=login, retry=True, on_loss=link.note_loss
        )
        bus = cls(client, cluster, stream, link, login.api_prefix)
        try:
            await bus.info()
        except BaseException:
            await client.close()
            raise
        return bus

    def link(self) -> LinkCounts:
        """Return the connection's counts."""
        self._link.connected = self._client.is_connected
        return self._link

    declare = staticmethod(declare)
    remove = staticmethod(remove)

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages, several as one atomic batch; see `bus.port.Bus.publish`."""
        return await self._publisher.publish(messages)

    def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield history, then live messages; see `bus.port.Bus.read`."""
        return self._read(tuple(subjects), start_seq)

    async def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is stored; see `bus.port.Bus.history`."""
        end = await self.last_seq() if end_seq is None else end_seq
        single = len(subjects) == 1 and not self._replicated
        pattern = subjects[0] if single else self._everything
        async for message in self.fetch(start_seq, end, pattern):
            if matches_any(subjects, message.subject):
                yield message

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        return (await self.newest(subject)).message

    async def newest(self, subject: str, at_least: int = 0) -> NewestMessage:
        """Return the newest message of one subject with its signature.

        A replicated log is asked through its leader, since a follower may lag. One that was leader
        until a moment ago may, too: an answer older than `at_least` is asked for again for a while.
        """
        if self._replicated:
            return await self._newest_of_leader(subject, at_least)
        reply = await self._request(f"{self._get}.{subject}")
        if status_of(reply.headers) == NOT_FOUND:
            return NewestMessage(None)
        signature = (reply.headers or {}).get(SIGNATURE, "")
        return NewestMessage(stored_message(reply.headers, reply.data), signature)

    async def _newest_of_leader(self, subject: str, at_least: int) -> NewestMessage:
        wish = json.dumps({"last_by_subj": subject}).encode()
        patience = self._patience()
        while True:
            losses = self._link.losses
            parsed = parse_got_message(await self._call_api(self._get_of_leader, wish))
            newest = NewestMessage(None) if parsed is None else NewestMessage(*parsed)
            await self.info()  # whoever answered is still the one leader
            if losses == self._link.losses and (newest.seq >= at_least or patience.spent):
                return newest
            await patience.wait()

    async def info(self) -> LogInfo:
        """Return the log in numbers.

        Raises:
            StreamMissing: there is no such log on the server.
            BusUnavailable: no server answers, or the log has no leader right now.
        """
        patience = self._patience()
        while True:
            answer = await self._call_api(self._info)
            self._replicated = answer["config"]["num_replicas"] > 1
            led = not self._replicated or is_led(answer.get("cluster") or {})
            behind = self._replicated and answer["state"]["last_seq"] < self._link.highest
            if led and (patience.spent or not behind):
                return self._log_info(answer)
            if patience.spent:
                raise BusUnavailable(f"the log {self._stream} has no leader")
            await patience.wait()

    def _patience(self) -> Backoff:
        return Backoff(asyncio.sleep, self._client.switch_server)

    @staticmethod
    def _log_info(answer: dict[str, Any]) -> LogInfo:
        state, config = answer["state"], answer["config"]
        return LogInfo(
            first_seq=state["first_seq"],
            last_seq=state["last_seq"],
            messages=state["messages"],
            bytes=state["bytes"],
            max_bytes=config["max_bytes"],
            max_age_seconds=config["max_age"] / NANOSECONDS,
            replicas=config["num_replicas"],
        )

    async def last_seq(self) -> int:
        """Return the position of the newest message."""
        return (await self.info()).last_seq

    async def send_heartbeat(self, process: str, payload: bytes) -> None:
        """Send a heartbeat outside the log; one that cannot be sent is lost, the next follows."""
        with suppress(NatsError):
            await self._client.publish(subjects.health(self._cluster, process), payload)

    async def heartbeats(self, process: str = "*") -> Heartbeats:
        """Yield (process, payload) of heartbeats."""
        subscription = await self._client.subscribe(subjects.health(self._cluster, process))
        try:
            async for message in subscription.messages:
                yield subjects.unescape(message.subject.rsplit(".", 1)[-1]), message.data
        finally:
            await self._unsubscribe(subscription)

    async def close(self) -> None:
        """Send what waits, then disconnect; without a server nothing can be sent, and none is awaited."""
        if self._client.is_closed:
            return
        if self._client.is_connected:
            with suppress(NatsError):
                await self._client.drain()
        if not self._client.is_closed:
            await self._client.close()

    async def fetch(self, start_seq: int, end_seq: int, pattern: str = "") -> Messages:
        """Yield what is stored between two positions, both included, by direct get in batches."""
        if self._replicated:
            async for message in read_without_holes(
                self, start_seq, end_seq, patience=self._patience()
            ):
                self._link.note_read(message)
                yield message
            return
        next_seq = max(1, start_seq)
        while next_seq <= end_seq:
            count = min(FETCH_MESSAGES, end_seq - next_seq + 1)
            batch, more = await self._fetch_batch(next_seq, count, pattern or self._everything)
            for message in batch:
                if message.seq > end_seq:
                    return
                self._link.note_read(message)
                yield message
                next_seq = message.seq + 1
            if not more:
                return

    async def batch(self, start_seq: int, end_seq: int) -> list[StoredMessage]:
        """Return one batch of every subject; see `bus.replica_reads`."""
        count = min(FETCH_MESSAGES, end_seq - start_seq + 1)
        return (await self._fetch_batch(start_seq, count, self._everything))[0]

    async def _read(self, patterns: tuple[str, ...], start_seq: int) -> Messages:
        feed: asyncio.Queue[StoredMessage] = asyncio.Queue(FEED_MESSAGES)
        self._link.forget_reads_from(start_seq)

        everything = subjects.live("")

        def on_message(raw_subject: bytes, raw_headers: bytes, data: bytes) -> None:
            if feed.full():
                return
            with suppress(BusUnavailable, ValueError):  # unreadable: a hole, fetched by position
                subject = raw_subject.decode().removeprefix(everything)
                if matches_any(patterns, subject):
                    stored = stored_message(LightClient.parse_headers(raw_headers), data)
                else:
                    stored = position_only(subject, raw_headers)
                self._link.newest[stored.subject] = stored.seq
                self._link.note_read(stored)
                feed.put_nowait(stored)

        subscription = await self._client.feed(subjects.live(self._everything), on_message)
        try:
            await self._client.flush()
            async for message in read_ordered(
                self, feed, patterns, start_seq, losses=lambda: self._link.losses
            ):
                yield message
        finally:
            await self._unsubscribe(subscription)

    async def _fetch_batch(
        self, start_seq: int, count: int, pattern: str
    ) -> tuple[list[StoredMessage], bool]:
        """Fetch one batch from a position; whether there is more of the pattern afterwards."""
        error: Exception | None = None
        for _ in range(TRIES):
            inbox = self._client.new_inbox()
            subscription = await self._client.subscribe(
                inbox, pending_msgs_limit=4 * FETCH_MESSAGES, pending_bytes_limit=64 * 1024**2
            )
            wish = {
                "seq": start_seq,
                "batch": count,
                "max_bytes": FETCH_BYTES,
                "next_by_subj": pattern,
            }
            batch: list[StoredMessage] = []
            try:
                await self._client.publish(self._get, json.dumps(wish).encode(), reply=inbox)
                while True:
                    reply = await subscription.next_msg(timeout=ACK_SECONDS)
                    status = status_of(reply.headers)
                    if status == NOT_FOUND:
                        return batch, False
                    if status == BATCH_END:
                        return batch, int((reply.headers or {}).get("Nats-Num-Pending", "0")) > 0
                    batch.append(stored_message(reply.headers, reply.data))
            except (NatsError, NatsTimeout, TimeoutError, OSError) as failure:
                error = failure
                if batch:
                    return batch, True
            finally:
                await self._unsubscribe(subscription)
        raise BusUnavailable(
            f"the nats-server does not answer reads of {self._stream} ({short_error(error)})"
        )

    async def _call_api(self, subject: str, body: bytes = b"") -> dict[str, Any]:
        """Call the JetStream API; wait out a log without a leader.

        Raises:
            StreamMissing: there is no such log on the server.
            BusUnavailable: it has no leader for longer than an election takes, or does not answer.
        """
        patience = self._patience()
        while True:
            answer: dict[str, Any] = json.loads((await self._request(subject, body)).data)
            code = (answer.get("error") or {}).get("err_code", 0)
            if code == STREAM_NOT_FOUND:
                raise StreamMissing(
                    f"nats: no log named {self._stream} on this server; start the stack first"
                )
            if code not in TEMPORARY:
                return answer
            if patience.spent:
                why = answer["error"]["description"]
                raise BusUnavailable(f"the log {self._stream} has no leader ({why})")
            await patience.wait()

    async def _request(self, subject: str, body: bytes = b"") -> Msg:
        error: Exception | None = None
        for number in range(TRIES):
            if number == MOVE_ON_TRIES:
                await self._client.switch_server()
            try:
                return await self._client.request(subject, body, timeout=ACK_SECONDS)
            except NoRespondersError as failure:
                error = JetStreamMissing(
                    f"nats: {self._stream} cannot be read; the server has no JetStream or not this log"
                )
                error.__cause__ = failure
                await asyncio.sleep(RESPONDER_SECONDS)
            except (NatsError, NatsTimeout, TimeoutError, OSError) as failure:
                error = failure
                await asyncio.sleep(0.1)
        if isinstance(error, JetStreamMissing) and not self._replicated:
            raise error
        raise BusUnavailable(f"the nats-server does not answer {subject} ({short_error(error)})")

    async def _unsubscribe(self, subscription: Any) -> None:
        if not self._client.is_closed and not self._client.is_draining:
            with suppress(NatsError):
                await subscription.unsubscribe()
