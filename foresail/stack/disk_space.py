"""Handling of a full disk under the log.

A nats-server whose store could not be written stops acknowledging and does not begin again by
itself, even when there is room again; what it acknowledged before is whole. Publishers wait (see
`bus.nats_publish`). The stack reports that, and restarts the server as soon as the disk has room, so
that nobody has to do more than make some.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from bus.clock import Clock
from bus.nats_server import NatsServer
from projections.figures import size

MIB = 1024**2
LOW_BYTES = 16 * MIB
"""Below this a disk counts as full."""
ROOM_BYTES = 64 * MIB
"""A server that could not write is restarted when so much is free again."""
CHECK_SECONDS = 2.0


def disk_trouble(folder: Path, low_bytes: int = LOW_BYTES) -> str:
    """Return a line about a full disk, empty when it is not."""
    free = shutil.disk_usage(folder).free
    return "" if free >= low_bytes else f"{size(free)} are free on the disk of the log"


async def restart_when_disk_has_room(
    server: NatsServer,
    clock: Clock,
    on_change: Callable[[str, str], None],
    *,
    low_bytes: int = LOW_BYTES,
    room_bytes: int = ROOM_BYTES,
) -> None:
    """Stop a server that could not write its store once there is room, until cancelled.

    The supervisor starts it again; `on_change(name, what)` hears of it.
    """
    reported = False
    while True:
        await clock.sleep(CHECK_SECONDS)
        why = server.write_error() or disk_trouble(server.folder, low_bytes)
        if why and not reported:
            reported = True
            on_change("nats-server", f"cannot write the log ({why}); publishers wait for room")
        if reported and shutil.disk_usage(server.folder).free >= room_bytes:
            reported = False
            on_change("nats-server", "has room again; it is restarted")
            await server.stop()
