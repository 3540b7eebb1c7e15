"""One client's connection: how long it may take to ask, how much it may ask, and that it must read.

A connection that has no whole request after `REQUEST_SECONDS` is closed, however it trickles; when
too many wait at once, the one that has waited longest is closed first, so that a new client is answered.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_BYTES: Final = 16_384
"""Bytes of one request's line and headers."""
REQUEST_SECONDS: Final = 10.0
"""Wall seconds from the connection, or from the last answer, to the end of a request's headers."""
READ_SECONDS: Final = 30.0
"""Wall seconds that a client may leave an answer unread while it fills the connection."""
MOST_WAITING: Final = 100
"""Connections that have no request under way; open pages are counted apart."""


class BoundedConnection(H11Protocol):
    """A connection with deadlines."""

    _asking: asyncio.TimerHandle | None = None
    """Runs while no request is under way."""
    _reading: asyncio.TimerHandle | None = None
    """Runs while the client does not read."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._look()
        waiting = [
            connection
            for connection in self.connections
            if getattr(connection, "_asking", None) is not None
        ]
        if len(waiting) > MOST_WAITING:
            min(waiting, key=_deadline).transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        super().connection_lost(exc)
        for timer in (self._asking, self._reading):
            if timer is not None:
                timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Take what came, unless it is a head beyond the limit."""
        if self._asking is not None and len(data) > HEAD_BYTES and not _ends_early(data):
            self._unset_keepalive_if_required()
            self.send_400_response(f"the request's headers have more than {HEAD_BYTES} bytes")
            return
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Note that the client does not read."""
        super().pause_writing()
        if self._reading is None:
            self._reading = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _look(self) -> None:
        """Let the deadline run exactly while no request is under way."""
        cycle: Any = self.cycle  # None before the first request
        under_way = cycle is not None and not cycle.response_complete
        if under_way and self._asking is not None:
            self._asking.cancel()
            self._asking = None
        elif not under_way and self._asking is None and not self.transport.is_closing():
            self._asking = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)


def _ends_early(data: bytes) -> bool:
    """Say whether the first head in some bytes ends within the limit."""
    return data.find(b"\r\n\r\n", 0, HEAD_BYTES) >= 0


def _deadline(connection: Any) -> float:
    when: float = connection._asking.when()  # noqa: SLF001 - its own class
    return when
