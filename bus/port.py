"""The port: what the rest of Foresail knows of a bus. Two adapters pass one contract suite
(tests/bus).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

HEADER_ROOM_BYTES = 4_096
"""Bytes of a message's limit (1 MiB by default) that are left for headers."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message to be published."""

    subject: str
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of the log."""

    seq: int
    """Position in the stream, from 1."""
    time_ns: int
    """The stream's own time stamp, nanoseconds since the Unix epoch."""
    subject: str
    headers: Mapping[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class SharedMessage(StoredMessage):
    """A stored message that several readers of one process are handed, so that one of them decodes it for all."""

    decoded: list[Any] = field(default_factory=list, compare=False, repr=False)
    """The event in it (`bus.events.event_of`), once somebody has decoded it; else empty."""


Messages = AsyncGenerator[StoredMessage, None]
"""Stored messages one by one; close it (`contextlib.aclosing`) when leaving early."""
Heartbeats = AsyncGenerator[tuple[str, bytes], None]
"""(process, payload) one by one."""


@dataclass(frozen=True, slots=True)
class LogInfo:
    """The log in numbers."""

    first_seq: int
    last_seq: int
    messages: int
    bytes: int
    max_bytes: int
    """Retention by size; -1: none."""
    max_age_seconds: float
    """Retention by age; 0: none."""
    replicas: int = 1
    """Servers that keep a copy each."""


class Bus(Protocol):
    """One connection of one process to the log."""

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages, several as one atomic batch, and return their positions.

        Raises:
            AnotherWriter: somebody else wrote one of the subjects.
            MessageTooLarge: nothing was stored.
            BusUnavailable: not known to be stored; publishing the same again is safe.
        """
        ...

    def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield history from `start_seq` in order, then live messages: no hole, no duplicate, no
        end.
        """
        ...

    def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is stored, up to `end_seq` or the newest message at the time of the call."""
        ...

    async def last(self, subject: str) -> StoredMessage | None:
        """Return the newest message of one subject."""
        ...

    async def info(self) -> LogInfo:
        """Return the log in numbers."""
        ...

    async def send_heartbeat(self, process: str, payload: bytes) -> None:
        """Send a heartbeat on `health.<cluster>.<process>`, outside the log."""
        ...

    def heartbeats(self, process: str = "*") -> Heartbeats:
        """Yield (process, payload) of heartbeats."""
        ...

    async def close(self) -> None:
        """Send what is still unsent, then disconnect."""
        ...
