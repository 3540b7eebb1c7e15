"""Free ports on loopback for servers that are started later, and again after their death."""

from __future__ import annotations

import socket
import sys
import weakref
from contextlib import closing

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with closing(socket.socket()) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


def hold_port(owner: object) -> int:
    """Return a free loopback port that nobody else is given as long as `owner` lives.

    A socket that does not listen stays bound to it: Linux then gives the port to no other program that
    asks for any free one, and a server that names it and sets SO_REUSEADDR, as all of ours do, may
    listen there. Elsewhere such a socket would be in that server's way, and the port is only free now.
    """
    if sys.platform != "linux":
        return free_port()
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((LOOPBACK, 0))
    weakref.finalize(owner, holder.close)
    port: int = holder.getsockname()[1]
    return port
