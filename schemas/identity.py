"""Who an event is: ids, correlation and trace, all computed, never drawn.

A derived event's id is a UUIDv5 of what it is about (producer, type, cluster, incarnation, cycle,
key, part) and never of the set of its causes, which can differ after a restart. So a process that
publishes the same thing twice publishes the same id, and the log keeps one of them.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

NAMESPACE = uuid.UUID("6f7c0e0a-6f4b-5d0e-9a59-0d3f1c5a7e21")
"""Foresail's own UUIDv5 namespace."""
CYCLE_DIGITS = 18
"""A cycle a second reaches twelve in 30,000 years; more overflow where a cycle becomes a float."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where events belong: the cluster's name and its incarnation (each new simulated world is
    one).
    """

    cluster: str
    incarnation: str

    def correlation_id(self, cycle: int) -> str:
        """Return the id shared by everything of one cycle: `<cluster>/<incarnation>/<cycle>`."""
        return f"{self.cluster}/{self.incarnation}/{cycle}"

    def source(self, producer: str) -> str:
        """Return the CloudEvents `source` of a process."""
        return f"/foresail/{self.cluster}/{self.incarnation}/{producer}"


def cycle_of(correlation_id: str) -> int:
    """Return the cycle number of a correlation id.

    Raises:
        ValueError: the id does not end in a number of at most `CYCLE_DIGITS` digits.
    """
    number = correlation_id.rsplit("/", 1)[-1]
    if not (number.isascii() and number.isdecimal() and len(number) <= CYCLE_DIGITS):
        raise ValueError(f"no cycle number at the end of {correlation_id[:80]!r}")
    return int(number)


def event_id(
    origin: Origin, producer: str, event_type: str, *, cycle: int, key: str = "", part: str = ""
) -> str:
    """Return the id of a derived event; equal arguments give the equal id on every machine."""
    name = "\x1f".join(
        (producer, event_type, origin.cluster, origin.incarnation, str(cycle), key, part)
    )
    return str(uuid.uuid5(NAMESPACE, name))


def traceparent(origin: Origin, cycle: int, id_of_event: str) -> str:
    """Return a W3C traceparent: one trace per cycle, one span per event."""
    trace = hashlib.sha256(origin.correlation_id(cycle).encode()).hexdigest()[:32]
    span = hashlib.sha256(id_of_event.encode()).hexdigest()[:16]
    return f"00-{trace}-{span}-01"
