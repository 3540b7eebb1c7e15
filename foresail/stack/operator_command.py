"""One command of the operator's, as an event in the log."""

from __future__ import annotations

from typing import Any

from bus.clock import SystemClock
from bus.follow import Publisher
from bus.port import Bus
from schemas.control import Command, Control
from schemas.envelope import Event, NewEvent
from schemas.identity import Origin


async def publish_command(
    bus: Bus, origin: Origin, command: Command, value: str, reason: str, *, nonce: str
) -> Event[Any]:
    """Publish one command as the operator; return the event once it is stored.

    Args:
        bus: the log, as the identity `operator`.
        origin: cluster and incarnation that it is said to.
        command: what is said.
        value: what it is about, such as a cycle; empty where it needs nothing.
        reason: why, for whoever reads the log.
        nonce: makes two equal commands two events.
    """
    wall_seconds = SystemClock().wall_ns() / 1e9
    control = Control(
        command=command, value=value, nonce=nonce, wall_time_seconds=wall_seconds, text=reason
    )
    publisher = Publisher(bus, origin, "operator")
    (event,) = await publisher.publish([NewEvent(control, 0, wall_seconds)])
    return event
