"""The text of one row of the tail."""

from __future__ import annotations

from projections.figures import size
from projections.outage import outage_of
from schemas.snapshot import SnapshotNodes
from services.dashboard.arrival import ReceivedMessage

LIMIT = 96
"""Characters of a row's text; a row of the tail stays near 120 bytes."""


def row_text(arrival: ReceivedMessage) -> str:
    """Return one line, at most `LIMIT` characters: the event's text, or else its size."""
    if arrival.event is None:
        text = arrival.problem or f"{size(arrival.size_bytes)}"
    elif isinstance(arrival.event.data, SnapshotNodes):
        outage = outage_of(arrival.event.data)
        text = f"{size(arrival.size_bytes)}" if outage is None else outage.text()
    else:
        text = arrival.event.data.line()
    return text if len(text) <= LIMIT else text[: LIMIT - 1] + "…"
