"""What a process answers when asked how it is: `/healthz`, `/readyz` and Prometheus' `/metrics`.

A thread of its own answers, so that a process whose event loop hangs is told apart from one that
is gone. Alive means that the loop turned within the last seconds; ready means caught up with the log
and connected to it. Observing never stops the work: a port that is taken is a line in the log.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import structlog
from prometheus_client import CollectorRegistry, make_wsgi_app

from bus.clock import Clock
from bus.errors import ConfigError
from bus.metrics import Measures

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

PORT_VARIABLE = "FORESAIL_HEALTH_PORT"
HOST_VARIABLE = "FORESAIL_HEALTH_HOST"
LOOPBACK = "127.0.0.1"
TURN_SECONDS = 0.5
ALIVE_SECONDS = 5.0
"""An event loop that did not turn for so long hangs."""
ANSWER_SECONDS = 5.0
"""How long one client may take to ask."""


@dataclass(frozen=True, slots=True)
class Condition:
    """How a process is, at one moment."""

    ready: bool
    detail: Mapping[str, Any]
    """What `/readyz` says besides: state, position, lag."""


class Pulse:
    """When the event loop last turned."""

    def __init__(self, clock: Clock, measures: Measures | None = None) -> None:
        """Begin alive."""
        self._clock = clock
        self._measures = measures
        self._turned = clock.monotonic()

    @property
    def age_seconds(self) -> float:
        """Seconds since the loop last turned."""
        return self._clock.monotonic() - self._turned

    async def beat(self) -> None:
        """Turn with the loop until cancelled."""
        while True:
            self._turned = self._clock.monotonic()
            await self._clock.sleep(TURN_SECONDS)
            if self._measures is not None:
                self._measures.loop_delay_seconds.set(max(0.0, self.age_seconds - TURN_SECONDS))


def address_from(environment: Mapping[str, str]) -> tuple[str, int] | None:
    """Return where to answer; None when it is off (no port, or port 0).

    Raises:
        ConfigError: the port is no number that a port can have.
    """
    text = environment.get(PORT_VARIABLE, "") or "0"
    if not text.isdecimal() or int(text) > 65_535:
        raise ConfigError(PORT_VARIABLE, text, "give a port from 1 to 65535, or 0 for none")
    return (environment.get(HOST_VARIABLE, "") or LOOPBACK, int(text)) if int(text) else None


def health_app(
    registry: CollectorRegistry, pulse: Pulse, condition: Callable[[], Condition]
) -> WSGIApplication:
    """Return the three answers as one WSGI application."""
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if environ.get("REQUEST_METHOD") not in {"GET", "HEAD"}:
            return _say(start, "405 Method Not Allowed", {"error": "this page only reads"})
        if path == "/metrics":
            page: Iterable[bytes] = metrics(environ, start)
            return page
        if path == "/healthz":
            age = pulse.age_seconds
            status = "200 OK" if age < ALIVE_SECONDS else "503 Service Unavailable"
            alive = {"loop_age_seconds": round(age, 3), "pid": os.getpid()}
            return _say(start, status, {**alive, "ready": condition().ready})
        if path == "/readyz":
            now = condition()
            ready = now.ready and pulse.age_seconds < ALIVE_SECONDS
            status = "200 OK" if ready else "503 Service Unavailable"
            return _say(start, status, {"ready": ready, **now.detail})
        return _say(start, "404 Not Found", {"error": "ask /healthz, /readyz or /metrics"})

    return answer


@asynccontextmanager
async def answering(
    environment: Mapping[str, str],
    clock: Clock,
    measures: Measures,
    condition: Callable[[], Condition],
) -> AsyncIterator[None]:
    """Answer while the block runs, where the environment asks for it.

    Raises:
        ConfigError: the port is no number that a port can have.
    """
    address = address_from(environment)
    if address is None:
        yield
        return
    pulse = Pulse(clock, measures)
    measures.watch("ready", "1 when caught up and connected", lambda: float(condition().ready))
    turning = asyncio.create_task(pulse.beat(), name="pulse")
    try:
        with _serving(address, health_app(measures.registry, pulse, condition)):
            yield
    finally:
        turning.cancel()
        await asyncio.gather(turning, return_exceptions=True)


@contextmanager
def _serving(address: tuple[str, int], app: WSGIApplication) -> Iterator[None]:
    try:
        server = _Server(address, _Handler)
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


def _say(start: StartResponse, status: str, body: Mapping[str, Any]) -> Iterable[bytes]:
    data = json.dumps(body).encode() + b"\n"
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
    start(status, [*headers, ("Cache-Control", "no-store")])
    return [data]


class _Server(ThreadingMixIn, WSGIServer):
    """One short-lived thread per question; none of them keeps the process alive."""

    daemon_threads = True

    def server_bind(self) -> None:
        """Bind without asking DNS for this machine's name, which can take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def end(self) -> None:
        """Stop answering and give the port back; waits for the thread that serves."""
        self.shutdown()
        self.server_close()


class _Handler(WSGIRequestHandler):
    """Answers one question, without a line on standard error."""

    timeout = ANSWER_SECONDS

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class' name
        """Say nothing."""
