"""The health endpoints of a process: `/healthz`, `/readyz` and Prometheus' `/metrics`.

A thread of its own answers, so that a process whose event loop hangs can be told from one that is
gone. Alive means that the loop turned within the last seconds; ready means caught up with the log and
connected to it. Monitoring never stops the work: a port that is taken is only a line in the log.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from socket import SHUT_RDWR, socket
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any, TextIO
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from bus.clock import Clock
from bus.errors import ConfigError
from bus.metrics import ProcessMetrics

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PORT_VARIABLE = "FORESAIL_HEALTH_PORT"
HOST_VARIABLE = "FORESAIL_HEALTH_HOST"
LOOPBACK = "127.0.0.1"
TURN_SECONDS = 0.5
LOOP_STALL_SECONDS = 5.0
"""An event loop that has not turned for this long hangs."""
ANSWER_SECONDS = 5.0
"""How long one client may take to send its request, up to the end of its headers, and then to read
the response."""
HEAD_BYTES = 16_384
"""Most bytes of one request with its headers."""
MOST_CLIENTS = 32
"""Most clients at once; one more closes the connection of the oldest."""


@dataclass(frozen=True, slots=True)
class HealthState:
    """The health of a process at one moment."""

    ready: bool
    detail: Mapping[str, Any]
    """What `/readyz` says besides: state, position, lag."""


class LoopMonitor:
    """When the event loop last turned."""

    def __init__(self, clock: Clock, metrics: ProcessMetrics | None = None) -> None:
        """Count from now; `metrics` gets the loop's delay."""
        self._clock = clock
        self._metrics = metrics
        self._turned = clock.monotonic()

    @property
    def age_seconds(self) -> float:
        """Seconds since the loop last turned."""
        return self._clock.monotonic() - self._turned

    async def run(self) -> None:
        """Note each turn of the loop until cancelled."""
        while True:
            self._turned = self._clock.monotonic()
            await self._clock.sleep(TURN_SECONDS)
            if self._metrics is not None:
                self._metrics.loop_delay_seconds.set(max(0.0, self.age_seconds - TURN_SECONDS))


def address_from(environment: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the host and port to serve on; None when it is off (no port, or port 0).

    Raises:
        ConfigError: the port is no number that a port can have.
    """
    text = environment.get(PORT_VARIABLE, "") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) <= 5) or int(text) > 65_535:
        raise ConfigError(PORT_VARIABLE, text, "give a port from 1 to 65535, or 0 for none")
    return (environment.get(HOST_VARIABLE, "") or LOOPBACK, int(text)) if int(text) else None


def health_app(
    registry: CollectorRegistry, monitor: LoopMonitor, condition: Callable[[], HealthState]
) -> WSGIApplication:
    """Return the three endpoints as one WSGI application."""
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if environ.get("REQUEST_METHOD") not in {"GET", "HEAD"}:
            return _respond(start, "405 Method Not Allowed", {"error": "this page only reads"})
        if path == "/metrics":
            page: Iterable[bytes] = metrics(environ, start)
            return page
        if path == "/healthz":
            age = monitor.age_seconds
            status = "200 OK" if age < LOOP_STALL_SECONDS else "503 Service Unavailable"
            alive = {"loop_age_seconds": round(age, 3), "pid": os.getpid()}
            return _respond(start, status, {**alive, "ready": condition().ready})
        if path == "/readyz":
            now = condition()
            ready = now.ready and monitor.age_seconds < LOOP_STALL_SECONDS
            status = "200 OK" if ready else "503 Service Unavailable"
            return _respond(start, status, {"ready": ready, **now.detail})
        return _respond(start, "404 Not Found", {"error": "ask /healthz, /readyz or /metrics"})

    return answer


@asynccontextmanager
async def health_server(
    environment: Mapping[str, str],
    clock: Clock,
    metrics: ProcessMetrics,
    condition: Callable[[], HealthState],
) -> AsyncIterator[None]:
    """Serve the endpoints while the block runs, where the environment asks for it.

    Raises:
        ConfigError: the port is no number that a port can have.
    """
    address = address_from(environment)
    if address is None:
        yield
        return
    monitor = LoopMonitor(clock, metrics)
    metrics.register("ready", "1 when caught up and connected", lambda: float(condition().ready))
    turning = asyncio.create_task(monitor.run(), name="pulse")
    try:
        with _serve_in_thread(address, health_app(metrics.registry, monitor, condition), clock):
            yield
    finally:
        turning.cancel()
        await asyncio.gather(turning, return_exceptions=True)


@contextmanager
def _serve_in_thread(
    address: tuple[str, int], app: WSGIApplication, clock: Clock
) -> Iterator[None]:
    try:
        server = _Server(address, _Handler)
        server.clock = clock
    except OSError as error:
        where = f"{address[0]}:{address[1]}"
        structlog.get_logger("health").warning("not answering", address=where, error=str(error))
        yield
        return
    server.set_app(app)
    threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
    try:
        yield
    finally:
        # It ends within half a second; a process that was told to stop does not wait for that.
        threading.Thread(target=server.end, name="health-end", daemon=True).start()


def _respond(start: StartResponse, status: str, body: Mapping[str, Any]) -> Iterable[bytes]:
    data = json.dumps(body).encode() + b"\n"
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
    start(status, [*headers, ("Cache-Control", "no-store")])
    return [data]


class _Server(ThreadingMixIn, WSGIServer):
    """One short-lived thread per request; none of them keeps the process alive."""

    daemon_threads = True
    request_queue_size = MOST_CLIENTS
    clock: Clock

    def server_bind(self) -> None:
        """Bind without asking DNS for this machine's name, which can take seconds."""
        self._clients: OrderedDict[int, socket] = OrderedDict()
        self._lock = threading.Lock()
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; one client too many replaces the oldest."""
        with self._lock:
            self._clients[id(request)] = request
            oldest = next(iter(self._clients.values()))
            too_many = len(self._clients) > MOST_CLIENTS
        if too_many:
            with suppress(OSError):  # it has just left
                oldest.shutdown(SHUT_RDWR)  # its own thread closes it
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._clients.pop(id(request), None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class' form
        """Write no traceback for a client that went away; anything else is one line in the log."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            structlog.get_logger("health").warning("a question failed", error=repr(error)[:200])

    def end(self) -> None:
        """Stop answering and give the port back; waits for the thread that serves."""
        self.shutdown()
        self.server_close()


class _Handler(WSGIRequestHandler):
    """Answers one request, without a line on standard error."""

    timeout = ANSWER_SECONDS
    error_message_format = "%(code)d %(explain)s\n"
    error_content_type = "text/plain;charset=utf-8"

    def handle(self) -> None:
        """Read the whole request first, within limits of time and size, then answer it."""
        assert isinstance(self.server, _Server)
        try:
            head = _read_request_head(self.connection, self.server.clock)
        except TimeoutError:
            self.wfile.write(b"HTTP/1.0 408 Request Timeout\r\n\r\n")
            return
        if len(head) > HEAD_BYTES:
            self.wfile.write(b"HTTP/1.0 431 Request Header Fields Too Large\r\n\r\n")
        elif head:
            self.rfile = io.BufferedReader(io.BytesIO(head))
            self.connection.settimeout(ANSWER_SECONDS)
            super().handle()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class' name
        """Log nothing."""

    def get_stderr(self) -> TextIO:
        """Turn a traceback into one line of the log."""
        return _LastLine()


class _LastLine(io.StringIO):
    """Text for standard error."""

    def flush(self) -> None:
        """Log its last line."""
        text = self.getvalue().strip()
        if text:
            structlog.get_logger("health").warning("no answer", error=text.splitlines()[-1][:200])


def _read_request_head(connection: socket, clock: Clock) -> bytes:
    """Return a request line and its headers: empty when the client leaves, more than `HEAD_BYTES` when
    they do not end before that.

    Raises:
        TimeoutError: they do not end in time, however they trickle in.
    """
    head, deadline = b"", clock.monotonic() + ANSWER_SECONDS
    while b"\r\n\r\n" not in head and b"\n\n" not in head and len(head) <= HEAD_BYTES:
        left = deadline - clock.monotonic()
        if left <= 0:
            raise TimeoutError
        connection.settimeout(left)
        piece = connection.recv(HEAD_BYTES)
        if not piece:
            return b""
        head += piece
    return head
