"""Connections: which are accepted, how long each step may take, and how much may be sent before it.

Problem: a client that opens connections and says nothing, or one byte at a time, costs a socket each;
with enough of them no other client is accepted. Guarantee: a TLS handshake, the head of a request, its body
and a stalled reader each have seconds, not for ever; when there are too many connections those
without a request are closed first. An idle connection of a known client stays, since `kubectl drain` waits
on it.
"""

from __future__ import annotations

HANDSHAKE_SECONDS = 5.0
"""Wall seconds that a TLS handshake may take."""
HEAD_SECONDS = 10.0
"""Wall seconds between a connection, or the first byte of a request, and the end of its headers."""
KEEP_ALIVE_SECONDS = 600
"""Wall seconds that an idle connection stays; longer than kubectl drain waits between two tries."""
STALL_SECONDS = 60.0
"""Wall seconds that a client may take nothing of what it is sent."""
STOP_SECONDS = 8
"""Wall seconds between SIGTERM and the end of the process, whatever it is doing."""
MOST_HANDSHAKES = 128
"""Handshakes under way; one more ends the oldest."""
MOST_CONNECTIONS = 512
"""Open connections; one more ends the oldest that has sent no request yet, or is turned away."""
MOST_HEADERS = 100
LARGEST_HEAD = 64 << 10
"""Bytes of request line and headers together."""
