"""Every event in one line of text for people: the type's own words beside position, time and subject."""

from __future__ import annotations

from typing import Any

from projections.times import CLUSTER
from schemas.envelope import Event
from schemas.subjects import parse

TIME_COLUMNS = len(CLUSTER)
HEADING = f"{'seq':>7}  {CLUSTER}  {'subject':<22}  event"
"""The line above those of `event_line`: it names the clock."""


def event_line(event: Event[Any], text: str = "") -> str:
    """Return one event as one line: position, cluster time, subject, and `text`, or its own line."""
    tail = ".".join(parse(event.subject).tokens)
    said = text or event.data.line()
    return f"{event.seq:>7}  {event.time[11:19]:<{TIME_COLUMNS}}  {tail:<22}  {said}"
