"""From stored messages to events: each message is decoded once, and what cannot be read stays one
entry of the log with its reason.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from bus.port import Messages, SharedMessage, StoredMessage
from schemas.envelope import Event, attributes_of
from schemas.identity import cycle_of
from schemas.registry import UnknownEvent, decode


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A stored message with the event in it."""

    message: StoredMessage
    event: Event[Any] | None
    """None when this version cannot read it."""
    problem: str = ""
    """Why it cannot be read; empty when it can."""

    @property
    def seq(self) -> int:
        """Its position in the log."""
        return self.message.seq


def event_of(message: StoredMessage) -> Event[Any]:
    """Return the event in a stored message, with its position and recorded time.

    Raises:
        UnknownEvent: it is no event that this version can read.
    """
    known: list[Event[Any]] = message.decoded if isinstance(message, SharedMessage) else []
    if not known:
        event = decode(
            message.subject,
            message.headers,
            message.data,
            seq=message.seq,
            recorded_ns=message.time_ns,
        )
        known.append(event)
    return known[0]


def read_entry(message: StoredMessage) -> LogEntry:
    """Decode one stored message; never raises for its content."""
    try:
        return LogEntry(message, event_of(message))
    except UnknownEvent as error:
        return LogEntry(message, None, str(error))


async def read_events(
    messages: Messages, *, selects: Callable[[StoredMessage], bool] | None = None
) -> AsyncGenerator[LogEntry, None]:
    """Yield an entry for each message, and close `messages` at the end.

    Args:
        messages: as `Bus.read`, `Bus.history` and recordings yield them.
        selects: says by subject or headers whether a message is worth decoding; others are left out.
    """
    async with aclosing(messages):
        async for message in messages:
            if selects is None or selects(message):
                yield read_entry(message)


def cycle_of_message(message: StoredMessage) -> int:
    """Return the cycle that a message is about, from its headers; -1 when they do not say."""
    try:
        return cycle_of(attributes_of(message.headers).get("correlationid", "/-1"))
    except ValueError:
        return -1
