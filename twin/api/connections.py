"""Connections: which are accepted, how long each step may take, and how much may be sent before it.

Problem: a client that opens connections and says nothing, or one byte at a time, costs a socket each;
with enough of them no other client is accepted. Guarantee: a TLS handshake, the head of a request, its body
and a stalled reader each have seconds, not for ever; when there are too many connections those
without a request are closed first. An idle connection of a known client stays, since `kubectl drain` waits
on it.
"""

from __future__ import annotations

import asyncio
import faulthandler
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from twin.api.limits import LONGEST_URL, uri_too_long
from twin.api.messages import JSON, json_bytes
from twin.errors import ApiError, bad_request

HANDSHAKE_SECONDS = 10.0
"""Wall seconds that a TLS handshake may take; this and the next as on a real API server."""
HEAD_SECONDS = 32.0
"""Wall seconds between a connection, or the first byte of a request, and the end of its headers."""
KEEP_ALIVE_SECONDS = 600
"""Wall seconds that an idle connection stays; longer than kubectl drain waits between two tries."""
STALL_SECONDS = 60.0
"""Wall seconds that a client may take nothing of what it is sent."""
STOP_SECONDS = 60
"""Wall seconds between SIGTERM and the end of the process, whatever it is doing."""
MOST_HANDSHAKES = 128
"""Handshakes under way; one more ends the oldest."""
MOST_CONNECTIONS = 512
"""Open connections; one more ends the oldest that has sent no request yet, or is turned away."""
MOST_HEADERS = 100
LARGEST_HEAD = 64 << 10
"""Bytes of request line and headers together."""
MOST_PIPELINED = 32
"""Requests that wait on one connection for the one before them."""
_KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A peer that has vanished is noticed within a minute."""


class Connection(HttpToolsProtocol):
    """One client's connection, within limits."""

    _timer: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None
    _in_head = False
    _head_bytes = 0
    _refused = False
    _served = False
    _full = False
    place = 0
    """Below 100; connections that are opened together differ in it."""
    opened_at = 0.0
    """When it was opened, on the loop's clock."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.opened_at = self.loop.time()
        self._await_head()
        if len(self.connections) > MOST_CONNECTIONS:
            self._full = not self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers."""
        super().connection_lost(exc)
        self._forget_timer()
        if self._stalled is not None:
            self._stalled.cancel()

    @property
    def waits(self) -> bool:
        """Whether no request has come yet."""
        return not self._served and not self._refused

    def drop(self) -> None:
        """End it at once."""
        self._refused = True
        self.transport.abort()

    # ---- what arrives

    def data_received(self, data: bytes) -> None:
        """Read what a client sends, unless it has been refused."""
        if self._refused:
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > LARGEST_HEAD:
            self._refuse(_too_long_head(self.url))
        current: RequestResponseCycle | None = self.cycle  # none before the first request
        silent = current is None or current.response_complete
        if silent and self._timer is None and self.timeout_keep_alive_task is None:
            self._await_head()  # empty lines between two requests

    def on_message_begin(self) -> None:
        """Begin a request: its head has so many seconds from now."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        if self._served:
            self._await_head()

    def on_headers_complete(self) -> None:
        """Hand a request on, if its head keeps within the limits."""
        self._in_head, self._served = False, True
        self._forget_timer()
        if self._refused:
            return
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > LARGEST_HEAD or len(self.url) > LONGEST_URL or len(self.headers) > MOST_HEADERS:
            self._refuse(_too_long_head(self.url))
        elif self._full:
            self._refuse(_too_busy_error(), ((b"retry-after", b"1"),))
        elif len(self.pipeline) >= MOST_PIPELINED:  # those before it are answered, then it ends
            self._refused = True
            self.pipeline[0][0].keep_alive = False
        else:
            super().on_headers_complete()
            if self._get_upgrade():  # nothing is read behind it
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        """Take a part of a body."""
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        if not self._refused:
            super().on_message_complete()

    def _unsupported_upgrade_warning(self) -> None:
        """Send no 100 Continue: the request is answered as if it had not asked."""

    # ---- what leaves

    def pause_writing(self) -> None:
        """Begin to wait for a client that takes nothing."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(STALL_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Resume: the client reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        del msg
        self._refuse(bad_request("the request is malformed HTTP"))

    def _refuse(self, error: ApiError, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        """Answer with a Status and end the connection; one with an answer under way just ends."""
        if self._refused:
            return
        self._refused = True
        if self.transport.is_closing():
            return
        current: RequestResponseCycle | None = self.cycle
        if current is not None and not current.response_complete:
            current.disconnected = True  # nothing more of this request is to be done
            current.message_event.set()
            if current.response_started or self.pipeline:
                self.transport.abort()
                return
        body = json_bytes(error.to_status())
        lines = [
            (b"content-type", JSON.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            *headers,
        ]
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self.transport.write(STATUS_LINE[error.status] + head + b"\r\n" + body)
        self.transport.close()

    # ---- time and room

    def _await_head(self) -> None:
        self._forget_timer()
        late = HEAD_SECONDS * (1.0 + self.place / 1_000)  # many do not end at one moment
        self._timer = self.loop.call_later(late, self._late)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        sentence = f"the head of a request must arrive within {HEAD_SECONDS:g} seconds"
        self._refuse(ApiError(408, "Timeout", sentence))

    def _make_room(self) -> bool:
        """End a connection that has sent no request; say whether there was one."""
        others = [connection for connection in self.connections if connection is not self]
        waiting = [other for other in others if isinstance(other, Connection) and other.waits]
        if waiting:
            oldest = min(waiting, key=lambda connection: connection.opened_at)
            self.connections.discard(oldest)
            oldest.drop()
        return bool(waiting)


class Acceptor:
    """Accepts connections and sees them through the TLS handshake."""

    def __init__(
        self,
        listener: socket.socket,
        context: ssl.SSLContext | None,
        make: Callable[[], asyncio.Protocol],
    ) -> None:
        """Accept on a bound socket, with TLS if there is a context."""
        listener.setblocking(False)
        self._context = context
        self._make = make
        self._handshakes: dict[asyncio.Task[None], None] = {}  # in the order in which they began
        self._accepting = asyncio.create_task(self._accept(listener), name="accept")

    def close(self) -> None:
        """Accept no more connections."""
        self._accepting.cancel()
        for task in self._handshakes:
            task.cancel()

    async def wait_closed(self) -> None:
        """Return when nothing is accepted any more."""
        await asyncio.gather(self._accepting, *self._handshakes, return_exceptions=True)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listener)
            except OSError:  # no file descriptors: some will be free in a moment
                await asyncio.sleep(0.1)
                continue
            if len(self._handshakes) >= MOST_HANDSHAKES:
                next(iter(self._handshakes)).cancel()
            task = loop.create_task(self._open(accepted))
            self._handshakes[task] = None
            task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    async def _open(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        limits: dict[str, Any] = {}
        if self._context is not None:
            limits = {"ssl": self._context, "ssl_handshake_timeout": HANDSHAKE_SECONDS}
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEP_ALIVE.items():
            if hasattr(socket, name):
                accepted.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        try:
            await loop.connect_accepted_socket(self._make, accepted, **limits)
        except (OSError, EOFError):  # includes TLS errors and time-outs
            accepted.close()
        except asyncio.CancelledError:
            accepted.close()
            raise


class Server(uvicorn.Server):
    """Serves within these limits, and always ends soon after SIGTERM."""

    beside: asyncio.Task[None] | None = None
    """What has to end in good order before the process does, since a signal ends it right after the server."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept on the sockets given."""
        await self.lifespan.startup()

        places = cycle(range(100))

        def make() -> asyncio.Protocol:
            made = Connection(self.config, self.server_state, self.lifespan.state)
            made.place = next(places)
            return made

        self.servers: list[Any] = []
        for listener in sockets or ():
            listener.listen(self.config.backlog)
            self.servers.append(Acceptor(listener, self.config.ssl, make))
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what runs beside the server, then all connections: nothing may be waited for after that, or
        requests that are cut off then write tracebacks.
        """
        if self.beside is not None and not self.beside.done():
            self.beside.cancel()
            await asyncio.gather(self.beside, return_exceptions=True)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; a thread outside of Python ends the process if that takes too long."""
        with suppress(ValueError, RuntimeError):  # no stderr to write to
            faulthandler.dump_traceback_later(STOP_SECONDS, exit=True)
        super().handle_exit(sig, frame)


def create_server(app: Any, certificate: Path | None) -> Server:
    """Return what serves an ASGI application, with TLS if there is a certificate with its key."""
    config = uvicorn.Config(
        app,
        ssl_certfile=certificate,
        http="httptools",
        ws="none",
        lifespan="off",
        log_level="error",  # what strangers send is no concern of ours
        access_log=False,
        date_header=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
    )
    return Server(config)


def _too_long_head(url: bytes) -> ApiError:
    if len(url) > LONGEST_URL:
        return uri_too_long()
    limits = f"at most {LARGEST_HEAD} bytes and {MOST_HEADERS} headers are read"
    return ApiError(431, "RequestHeaderFieldsTooLarge", f"the headers are too large: {limits}")


def _too_busy_error() -> ApiError:
    sentence = f"the server has {MOST_CONNECTIONS} connections; try again later"
    return ApiError(503, "ServiceUnavailable", sentence, {"retryAfterSeconds": 1})
