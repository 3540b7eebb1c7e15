"""What uses the log during a session: one writer for each subject, which is started again every few
seconds, a reader that is not, and a stale writer.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field

from bus.errors import AnotherWriter, BusUnavailable, ForesailError
from bus.nats_adapter import NatsBus
from bus.port import Message, StoredMessage
from proofs.faults.waiting import wait_until
from schemas.envelope import MESSAGE_ID

CLUSTER = "proof"
SUBJECTS = tuple(f"foresail.{CLUSTER}.writer.{number}" for number in range(4))
PACE_SECONDS = 0.03
BATCH_EVERY, BATCH_SIZE = 10, 3
TURNS = 60
"""Publishes after which a writer starts over with what it reads from the log."""
AGAIN_SECONDS = 0.5
TAKEN_OVER_SECONDS = 60.0
Acknowledged = tuple[str, str, int]
"""Subject, id and position."""


@dataclass
class Traffic:
    """Everything that was acknowledged and read; `begin`, then `stop`."""

    urls: str
    stream: str
    reading: NatsBus
    stale: NatsBus
    acks: list[Acknowledged] = field(default_factory=list)
    seen: list[StoredMessage] = field(default_factory=list)
    failure: str = ""
    """Why a writer or the reader ended; empty while all are running."""
    gave_up: int = 0
    rivals: int = 0
    longest_stop_seconds: float = 0.0
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _stopping: bool = False
    _newest: float = 0.0

    @classmethod
    async def begin(cls, urls: str, stream: str) -> Traffic:
        """Connect and start to write and read; the stale writer has written each subject before."""
        reading, stale = [
            await NatsBus.connect(urls, cluster=CLUSTER, stream=stream) for _ in range(2)
        ]
        traffic = cls(urls, stream, reading, stale)
        for subject in SUBJECTS:
            await traffic._publish(traffic.stale, [message(subject, "before")])
        traffic._newest = time.monotonic()
        traffic._tasks = [asyncio.create_task(traffic._write(subject)) for subject in SUBJECTS]
        traffic._tasks.append(asyncio.create_task(traffic._read()))
        for task in traffic._tasks:
            task.add_done_callback(traffic._note_end)
        if not await wait_until(traffic._all_taken_over, TAKEN_OVER_SECONDS):
            traffic.failure = traffic.failure or "not every writer began"
        return traffic

    @property
    def acknowledged(self) -> int:
        """How many events were acknowledged so far."""
        return len(self.acks)

    def _all_taken_over(self) -> bool:
        """Say whether every subject has a writer that wrote after the stale one."""
        return {subject for subject, name, _ in self.acks if not name.endswith("before")} == {
            *SUBJECTS
        }

    async def publish_as_rival(self) -> None:
        """Have the stale writer publish, as a process would that was frozen since the start."""
        subject = SUBJECTS[self.rivals % len(SUBJECTS)]
        while not self.failure:
            try:
                await self.stale.publish([message(subject, f"stale-{self.rivals}")])
            except AnotherWriter:
                self.rivals += 1
                return
            except BusUnavailable:
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                self.failure = f"a stale writer was let in on {subject}"

    async def reread(self) -> None:
        """Read the log over a new connection: what was acknowledged until now must be in it."""
        known = list(self.acks)
        while not self.failure:
            bus = await self._connect()
            try:
                stored = {
                    message.seq: message async for message in bus.history([f"foresail.{CLUSTER}.>"])
                }
            except BusUnavailable:
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                missing = [ack for ack in known if ack[2] not in stored]
                if missing:
                    self.failure = f"{len(missing)} acknowledged events were not read: {missing[0]}"
                return
            finally:
                await bus.close()

    async def stop(self) -> None:
        """Let every writer finish its current publish."""
        self._stopping = True
        await asyncio.gather(*self._tasks[:-1], return_exceptions=True)

    async def close(self) -> None:
        """End the reader and close every connection."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for bus in (self.reading, self.stale):
            await bus.close()

    async def _write(self, subject: str) -> None:
        number = 0
        while not self._stopping:
            bus = await self._connect()
            try:
                for turn in range(TURNS):
                    size = BATCH_SIZE if turn % BATCH_EVERY == 0 else 1
                    batch = [message(subject, str(number + part)) for part in range(size)]
                    await self._publish(bus, batch)
                    number += size
                    await asyncio.sleep(PACE_SECONDS)
                    if self._stopping:
                        return
            finally:
                await bus.close()

    async def _connect(self) -> NatsBus:
        """Return a new connection, as a process has that was started again."""
        while True:
            try:
                return await NatsBus.connect(self.urls, cluster=CLUSTER, stream=self.stream)
            except BusUnavailable:
                await asyncio.sleep(AGAIN_SECONDS)

    async def _publish(self, bus: NatsBus, batch: list[Message]) -> None:
        while True:
            try:
                seqs = await bus.publish(batch)
            except BusUnavailable:
                self.gave_up += 1
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                break
        now = time.monotonic()
        if self._newest:
            self.longest_stop_seconds = max(self.longest_stop_seconds, now - self._newest)
        self._newest = now
        for message, seq in zip(batch, seqs, strict=True):
            self.acks.append((message.subject, message.headers[MESSAGE_ID], seq))

    async def _read(self) -> None:
        async with aclosing(self.reading.read([f"foresail.{CLUSTER}.>"])) as messages:
            async for message in messages:
                self.seen.append(message)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is None and self._stopping:
            return
        kind = type(error).__name__ if isinstance(error, ForesailError) else repr(error)
        self.failure = self.failure or f"{kind}: {error}"


def message(subject: str, number: str) -> Message:
    """Return one event; its id names subject and number."""
    identity = f"{subject.rsplit('.', 1)[-1]}-{number}"
    return Message(subject, {MESSAGE_ID: identity}, identity.encode() * 8)
