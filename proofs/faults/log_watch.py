"""Follows a running stack's log from outside, through every outage of the server, and keeps what it
saw: a log read afterwards must still hold all of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from bus.errors import Permanent, Temporary
from bus.events import event_of
from bus.login import ANONYMOUS, Login
from bus.nats_adapter import NatsBus
from bus.port import StoredMessage
from projections.outage import outage_of
from proofs.faults.waiting import wait_until
from schemas import subjects
from schemas.decision import ClosedBy, Decision
from schemas.snapshot import SnapshotNodes

AGAIN_SECONDS = 0.3
EVERYTHING = (subjects.pattern("*", (">",)),)


class LogWatch:
    """What one outside reader has seen of one log."""

    def __init__(self, url: str, cluster: str, stream: str, login: Login = ANONYMOUS) -> None:
        """Read the stream of `cluster` on the server at `url`; `run` does it."""
        self._login = login
        self._url, self._cluster, self._stream = url, cluster, stream
        self.messages: list[StoredMessage] = []
        self.closed: dict[int, ClosedBy] = {}
        """How each decided cycle closed."""
        self.newest_answered = 0
        """The newest cycle whose decision has an outcome."""
        self.cluster_readable = False
        """Whether the newest snapshot could read the cluster."""

    @property
    def newest_cycle(self) -> int:
        """The newest decided cycle; 0 before the first."""
        return max(self.closed, default=0)

    async def run(self) -> None:
        """Follow until cancelled; retry while the server cannot be reached."""
        while True:
            try:
                await self._follow()
            except (Temporary, Permanent):
                await asyncio.sleep(AGAIN_SECONDS)

    async def wait_for_decisions(self, cycles: int, seconds: float) -> bool:
        """Wait until `cycles` newer cycles closed with all proposals; False after `seconds`."""
        after = self.newest_cycle
        return await wait_until(
            lambda: (
                sum(cycle > after and how is ClosedBy.ALL for cycle, how in self.closed.items())
                >= cycles
            ),
            seconds,
        )

    async def wait_for_execution(self, seconds: float) -> bool:
        """Wait until the executor has answered what is decided now; False after `seconds`."""
        cycle = self.newest_cycle
        return await wait_until(lambda: self.newest_answered >= cycle, seconds)

    async def wait_for_cluster(self, seconds: float) -> bool:
        """Wait until the newest snapshot could read the cluster; False after `seconds`."""
        return await wait_until(lambda: self.cluster_readable, seconds)

    def lost_cycles(self, after: int) -> int:
        """Return how many cycles since `after`, up to the newest decided one, closed without all
        proposals, or not at all.
        """
        decided = sum(cycle > after and how is ClosedBy.ALL for cycle, how in self.closed.items())
        return max(0, self.newest_cycle - after) - decided

    async def _follow(self) -> None:
        bus = await NatsBus.connect(
            self._url,
            cluster=self._cluster,
            stream=self._stream,
            name="proof",
            login=self._login,
        )
        try:
            start = self.messages[-1].seq + 1 if self.messages else 1
            async with aclosing(bus.read(EVERYTHING, start_seq=start)) as messages:
                async for message in messages:
                    self._take(message)
        finally:
            await bus.close()

    def _take(self, message: StoredMessage) -> None:
        self.messages.append(message)
        if message.subject.endswith(".decision"):
            data = event_of(message).data
            if isinstance(data, Decision):
                self.closed[data.cycle] = data.closed_by
        elif message.subject.endswith(".outcome.execution"):
            event = event_of(message)
            self.newest_answered = max(self.newest_answered, event.cycle)
        elif message.subject.endswith(".snapshot.nodes"):
            snapshot = event_of(message).data
            if isinstance(snapshot, SnapshotNodes):
                self.cluster_readable = outage_of(snapshot) is None


async def read_log(
    url: str, cluster: str, stream: str, login: Login = ANONYMOUS
) -> list[StoredMessage]:
    """Return every message that a stream holds.

    Raises:
        BusUnavailable, StreamMissing: the log cannot be read.
    """
    bus = await NatsBus.connect(url, cluster=cluster, stream=stream, name="proof", login=login)
    try:
        return [message async for message in bus.history(EVERYTHING)]
    finally:
        await bus.close()


def lost_messages(
    live: Sequence[StoredMessage], stored: Sequence[StoredMessage]
) -> list[StoredMessage]:
    """Return what was seen and is not held any more, at the same position with the same bytes."""
    known = {message.seq: (message.subject, message.data) for message in stored}
    return [
        message for message in live if known.get(message.seq) != (message.subject, message.data)
    ]
