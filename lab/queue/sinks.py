"""Where events about queues go: a recording of their own, or the log of a running stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from bus.clock import Clock
from bus.follow import Publisher
from bus.port import Bus, StoredMessage
from bus.recording.writer import RecordingWriter
from schemas.config import CODE_VERSION
from schemas.envelope import NewEvent, stamp
from schemas.identity import Origin
from schemas.model import EventData
from schemas.registry import encode

PRODUCER = "operator"
"""Who says it: a person's command line."""


class Sink(Protocol):
    """Takes the events of a look."""

    async def take(self, events: Sequence[EventData], time_seconds: float) -> None:
        """Store events of one moment, in order."""
        ...


class RecordingSink:
    """Writes a recording; what is written stays readable if the process dies."""

    def __init__(self, writer: RecordingWriter, origin: Origin) -> None:
        """Append to `writer`, whose header names `origin`."""
        self._writer, self._origin = writer, origin
        self._seq = 0

    async def take(self, events: Sequence[EventData], time_seconds: float) -> None:
        """Append events, recorded at the time that they are about."""
        for data in events:
            self._seq += 1
            event = encode(stamp(NewEvent(data, 0, time_seconds), self._origin, PRODUCER, ""))
            time_ns = round(time_seconds * 1e9)
            self._writer.write(
                StoredMessage(self._seq, time_ns, event.subject, event.headers, event.data)
            )
        self._writer.flush()


class BusSink:
    """Publishes in the log of a stack."""

    def __init__(self, bus: Bus, origin: Origin) -> None:
        """Publish as the operator."""
        self._publisher = Publisher(bus, origin, PRODUCER)

    async def take(self, events: Sequence[EventData], time_seconds: float) -> None:
        """Publish events; raises AnotherWriter where somebody else watches this log's queues."""
        await self._publisher.publish([NewEvent(data, 0, time_seconds) for data in events])


@contextmanager
def queue_recording(path: Path, cluster: str, clock: Clock) -> Iterator[RecordingSink]:
    """Make a recording of queues, sealed at the end, however that comes.

    Raises:
        InputError: the file exists or cannot be made.
    """
    origin = Origin(cluster, f"queue-{clock.wall_ns():x}")
    header = {
        "cluster": cluster,
        "incarnation": origin.incarnation,
        "code_version": CODE_VERSION,
        "layers": ["queue"],
    }
    writer = RecordingWriter(path, header)
    try:
        yield RecordingSink(writer, origin)
    finally:
        writer.seal()
