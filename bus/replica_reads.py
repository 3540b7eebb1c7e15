"""Reading a log that several servers keep: what one of them has not got yet is no hole.

Direct get is answered by any replica, and a follower may be some messages behind the leader that
acknowledged them. Positions are contiguous and only retention removes messages, from the front, so
a batch that ends early or jumps is asked for again until it is whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from bus.errors import BusUnavailable
from bus.port import LogInfo, Messages, StoredMessage
from bus.streams import NANOSECONDS

LAG_SECONDS = 15.0
"""How long replicas may lag, or be without a leader: an election takes up to nine seconds."""
FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 1.0
MOVE_ON_SECONDS = 3.0
"""After so long another server is asked: this one may be cut off from the others."""

LEASE_SECONDS = 3.0
"""A leader that heard from most servers within so long is the only one: nobody stands for election
before four seconds of its silence.
"""

Sleep = Callable[[float], Awaitable[None]]


def is_led(cluster: Mapping[str, Any]) -> bool:
    """Say whether who answered for a replicated log is its leader, and the only one.

    A follower that sees no leader answers for itself, with what it has; a leader that is cut off
    goes on for ten seconds, while the others elect the next.

    Args:
        cluster: what STREAM.INFO says of the log's servers.
    """
    replicas = cluster.get("replicas") or []
    near = [
        replica
        for replica in replicas
        if not replica.get("offline") and replica.get("active", 0) <= LEASE_SECONDS * NANOSECONDS
    ]
    return bool(cluster.get("leader")) and 2 * (1 + len(near)) > 1 + len(replicas)


class ReplicaReader(Protocol):
    """Queries of an adapter to the servers of a replicated log."""

    async def batch(self, start_seq: int, end_seq: int) -> list[StoredMessage]:
        """Return messages from a position on, as far as one batch goes, as any replica has them."""
        ...

    async def info(self) -> LogInfo:
        """Return the log in numbers as its leader knows them; raises BusUnavailable."""
        ...


class Backoff:
    """Pauses that get longer, up to a total."""

    def __init__(
        self,
        sleep: Sleep,
        switch_server: Callable[[], Awaitable[None]] | None = None,
        seconds: float = LAG_SECONDS,
    ) -> None:
        """Wait with `sleep`, `seconds` in all; `switch_server` is called every few of them."""
        self._sleep = sleep
        self._switch_server = switch_server
        self._seconds = seconds
        self.forget()

    @property
    def spent(self) -> bool:
        """Whether no time is left."""
        return self.waited_seconds >= self._seconds

    def forget(self) -> None:
        """Begin anew."""
        self.waited_seconds, self._pause = 0.0, FIRST_PAUSE_SECONDS
        self._moves_at = MOVE_ON_SECONDS

    async def wait(self) -> None:
        """Wait once, longer than the time before."""
        await self._sleep(self._pause)
        self.waited_seconds += self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
        if self._switch_server is not None and self.waited_seconds > self._moves_at:
            self._moves_at += MOVE_ON_SECONDS
            await self._switch_server()


async def read_without_holes(
    replicas: ReplicaReader, start_seq: int, end_seq: int, *, patience: Backoff
) -> Messages:
    """Yield everything between two positions, both included, in order and without a hole.

    A hole that every replica shows as long as `patience` lasts is the log's own, and is stepped
    over; so is what retention has removed, and what lies beyond the leader's own end.

    Raises:
        BusUnavailable: the replicas did not catch up with their leader in time.
    """
    next_seq = max(1, start_seq)
    while next_seq <= end_seq:
        first_seq = next_seq
        for message in await replicas.batch(next_seq, end_seq):
            if message.seq > next_seq and not patience.spent:
                break
            if message.seq > end_seq:
                return
            yield message
            next_seq = message.seq + 1
        if next_seq > first_seq:
            patience.forget()
            continue
        log = await replicas.info()
        if next_seq < log.first_seq:
            next_seq = log.first_seq
        elif log.last_seq < next_seq:
            return
        elif patience.spent:
            raise BusUnavailable(f"no replica shows position {next_seq} of {log.last_seq}")
        else:
            await patience.wait()
