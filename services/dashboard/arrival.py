"""Arrivals: what the dashboard needs of a stored message, read no deeper than that.

Snapshots, checkpoints and those of the untouched world are the largest messages and nothing of them is shown
but their size, so their data is not parsed; only a snapshot of the nodes that is small enough to be one without rows
is, since it may say that the cluster cannot be read, and observations of the untouched world, which count its requests.
A message that is no event is still counted and listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bus.events import read_entry
from bus.port import StoredMessage
from projections.overview import UNTOUCHED
from schemas import subjects
from schemas.envelope import Event
from schemas.snapshot import SnapshotNodes, SnapshotPlacements
from schemas.untouched import UntouchedObservation

UNREAD_LAYERS = frozenset({"snapshot", "checkpoint", UNTOUCHED})
SMALL_SNAPSHOT_BYTES = 8_192
"""A snapshot of the nodes without rows has what six sources say, at most 300 characters each."""


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A stored message as the page sees it."""

    seq: int
    recorded_ns: int
    """The stream's own time stamp, nanoseconds since the Unix epoch."""
    tokens: tuple[str, ...]
    """Subject after `foresail.<cluster>.`; the first one is the layer."""
    size_bytes: int
    event: Event[Any] | None
    """None when its data was not read."""
    problem: str = ""
    """Why it is no event this version can read."""
    placements: Event[Any] | None = None
    """A snapshot of what runs where, of which nothing is shown; read only where that is asked for."""

    @property
    def layer(self) -> str:
        """The layer or side channel it belongs to."""
        return self.tokens[0]


def arrival_of(message: StoredMessage, *, placements: bool = False) -> ReceivedMessage:
    """Return a stored message as an arrival, if asked for with its placements; never raises for bad content."""
    tokens = subjects.parse(message.subject).tokens
    event: Event[Any] | None = None
    problem = ""
    small = tokens == SnapshotNodes.PATTERN and len(message.data) <= SMALL_SNAPSHOT_BYTES
    if tokens[0] not in UNREAD_LAYERS or small or tokens == UntouchedObservation.PATTERN:
        entry = read_entry(message)
        event, problem = entry.event, entry.problem
    placed = placements and tokens == SnapshotPlacements.PATTERN
    return ReceivedMessage(
        message.seq,
        message.time_ns,
        tokens,
        len(message.data),
        event,
        problem,
        read_entry(message).event if placed else None,
    )
