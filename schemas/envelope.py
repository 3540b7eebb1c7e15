"""The envelope: CloudEvents 1.0 in NATS binary mode, stamped once.

A service makes a `NewEvent` (its data, its cycle and the events that caused it). `stamp` gives
it its id, subject, correlation and trace context. Attributes travel as `ce-*` headers, data as JSON; values
are percent-encoded as the NATS protocol binding of CloudEvents asks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Generic, TypeVar
from urllib.parse import unquote

from schemas import subjects
from schemas.identity import Origin, cycle_of, event_id, traceparent
from schemas.model import EventData

SPEC_VERSION = "1.0"
CONTENT_TYPE = "application/json"
MESSAGE_ID = "Nats-Msg-Id"
"""Header by which JetStream itself drops duplicates; always the event's id."""

LONGEST_ATTRIBUTE = 65_536
"""Characters of one attribute as it travels; the ids of a thousand causes have half as many."""

_PLAIN = re.compile("[ !#$&-~]*")  # printable ASCII without % and "

D = TypeVar("D", bound=EventData, covariant=True)


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event that a service is about to publish, before it has an id."""

    data: EventData
    cycle: int
    """The cycle it is about; 0 outside any cycle."""
    time_seconds: float
    """Cluster time, seconds since the Unix epoch."""
    causes: tuple[str, ...] = ()
    """Ids of the events that led here."""


@dataclass(frozen=True, slots=True)
class Event(Generic[D]):
    """A stamped event."""

    id: str
    type: str
    source: str
    subject: str
    time: str
    """Cluster time, RFC 3339 UTC with microseconds."""
    correlation_id: str
    causation_ids: tuple[str, ...]
    traceparent: str
    config_hash: str
    data: D
    seq: int = field(default=0, compare=False)
    """Position in the stream once stored; 0 before."""
    recorded_ns: int = field(default=0, compare=False)
    """The stream's own time stamp, nanoseconds since the Unix epoch; 0 before it is stored."""

    @property
    def cycle(self) -> int:
        """The cycle this event is about."""
        return cycle_of(self.correlation_id)

    @property
    def producer(self) -> str:
        """The process that published it."""
        return self.source.rsplit("/", 1)[-1]


def rfc3339(seconds: float) -> str:
    """Write seconds since the Unix epoch as RFC 3339 UTC with microseconds."""
    return datetime.fromtimestamp(round(seconds, 6), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def schema_uri(event_type: str) -> str:
    """Return the `dataschema` of a type: a stable URI whose last part is the exported file's name."""
    return f"urn:foresail:schema:{event_type}"


def stamp(new_event: NewEvent, origin: Origin, producer: str, config_hash: str) -> Event[EventData]:
    """Give a new event its id and attributes; equal inputs give equal events."""
    data = new_event.data
    identity = event_id(origin, producer, data.TYPE, cycle=new_event.cycle, key=data.key())
    return Event(
        id=identity,
        type=data.TYPE,
        source=origin.source(producer),
        subject=subjects.build(origin.cluster, data.tokens()),
        time=rfc3339(new_event.time_seconds),
        correlation_id=origin.correlation_id(new_event.cycle),
        causation_ids=new_event.causes,
        traceparent=traceparent(origin, new_event.cycle, identity),
        config_hash=config_hash,
        data=data,
    )


def headers_of(event: Event[EventData]) -> dict[str, str]:
    """Return the NATS headers of an event, in a fixed order."""
    attributes = {
        "specversion": SPEC_VERSION,
        "id": event.id,
        "type": event.type,
        "source": event.source,
        "time": event.time,
        "dataschema": schema_uri(event.type),
        "correlationid": event.correlation_id,
        "causationid": " ".join(event.causation_ids),
        "traceparent": event.traceparent,
        "confighash": event.config_hash,
    }
    headers = {MESSAGE_ID: event.id, "content-type": CONTENT_TYPE}
    headers.update({f"ce-{name}": _encode(value) for name, value in attributes.items() if value})
    return headers


def attributes_of(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the CloudEvents attributes in NATS headers, decoded; header names are matched without
    case. A value of more than `LONGEST_ATTRIBUTE` characters is left out, as if it had not been sent.
    """
    return {
        attribute: unquote(value) if "%" in value else value
        for name, value in headers.items()
        if len(value) <= LONGEST_ATTRIBUTE and (attribute := _attribute(name)) is not None
    }


@lru_cache(maxsize=1_024)  # the same few names on every message
def _attribute(header: str) -> str | None:
    """Return the attribute that a header carries, None for any other header."""
    lowered = header.lower()
    return lowered[3:] if lowered.startswith("ce-") else None


def _encode(value: str) -> str:
    """Percent-encode what the binding forbids in header values: `%`, `"` and all but printable
    ASCII.
    """
    if _PLAIN.fullmatch(value):
        return value
    return "".join(
        char
        if " " <= char <= "~" and char not in '%"'
        else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in value
    )
