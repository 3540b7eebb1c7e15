"""Ports that are kept for a server which starts later."""

from __future__ import annotations

import gc
import socket
import sys

import pytest

from bus.ports import LOOPBACK, hold_port


@pytest.mark.skipif(sys.platform != "linux", reason="other systems hold no port for a server")
def test_a_held_port_is_its_servers_alone() -> None:
    """A server that names it listens; nobody else can take it, until its owner is gone."""
    owner: set[object] = set()
    port = hold_port(owner)
    with socket.create_server((LOOPBACK, port)), socket.create_connection((LOOPBACK, port)):
        pass
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind((LOOPBACK, port))

    del owner
    gc.collect()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the connection of before
        other.bind((LOOPBACK, port))
        other.listen()
