"""The health port answers its probe whatever other clients do, and says no in one line."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress

import pytest

from bus import health
from bus.clock import ManualClock, SystemClock
from bus.link import LinkCounts
from bus.measured_bus import MeasuredBus
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.metrics import ProcessMetrics
from bus.port import Message
from bus.ports import free_port
from tests.observability.test_health import READY, ask
from tests.patience import HANGS_SECONDS

GOOD = b"GET /readyz HTTP/1.0\r\n\r\n"


@pytest.fixture
def port() -> Iterator[int]:
    """Answer on a free port."""
    number, clock, metrics = free_port(), SystemClock(), ProcessMetrics("p", "c", "i1")
    app = health.health_app(metrics.registry, health.LoopMonitor(ManualClock()), lambda: READY)
    with health._serve_in_thread(("127.0.0.1", number), app, clock):
        yield number


@contextmanager
def connect(port: int) -> Iterator[socket.socket]:
    """Connect."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=HANGS_SECONDS)) as client:
        yield client


def read_until_closed(client: socket.socket) -> bytes:
    """Return what comes until the connection ends; the client's own time-out is an error."""
    found = b""
    with suppress(ConnectionError):
        while piece := client.recv(65_536):
            found += piece
    return found


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.0\r\nX: " + b"a" * 5_000_000, b"431"),
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.0\r\n\r\n", b"431"),
        (b"GET /" + b"a" * 10_000 + b" HTTP/1.0\r\n\r\n", b"404"),
        (b"GET / HTTP/1.0\r\n" + b"X: 1\r\n" * 1_000 + b"\r\n", b"431"),
        (b"POST /metrics HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\n" + b"a" * 9_000, b"405"),
        (b"GET /metrics?" + b"name[]=x&" * 1_000 + b" HTTP/1.0\r\n\r\n", b"200"),
        (b"GET /%00%ff HTTP/1.0\r\n\r\n", b"404"),
        (b"\x16\x03\x01\0\0\0\r\n\r\n", b"400"),
    ],
    ids=lambda value: value[:24].decode(errors="replace"),
)
def test_an_absurd_question_is_refused(
    port: int, request_bytes: bytes, status: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    """One status line, no traceback, and the next probe is answered."""
    with connect(port) as client:
        with suppress(ConnectionError):
            client.sendall(request_bytes)
        answer = read_until_closed(client)

    assert status in answer[:600]
    assert ask(port, "/readyz")[0] == 200
    assert "Traceback" not in "".join(capfd.readouterr())


def test_a_question_that_trickles_is_closed(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time counts for the whole question: a byte now and then does not make it longer."""
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.3)
    with connect(port) as client:
        client.settimeout(0.05)
        answer = b""
        deadline = SystemClock().monotonic() + HANGS_SECONDS
        while not answer and SystemClock().monotonic() < deadline:
            client.sendall(b"X")
            with suppress(TimeoutError):
                answer = client.recv(100)
        assert answer.startswith(b"HTTP/1.0 408 ")


def test_half_open_connections_do_not_hide_a_process(port: int) -> None:
    """With three times as many silent connections as are kept, the probe is still answered."""
    with ExitStack() as held:
        silent = [held.enter_context(connect(port)) for _ in range(health.MOST_CLIENTS * 3)]
        assert ask(port, "/readyz")[0] == 200
        assert b"" == read_until_closed(silent[0])


def test_who_leaves_early_writes_no_traceback(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    """A connection that is reset in the middle is nobody's error."""
    for sent in (b"", b"GET /met", b"GET /metrics HTTP/1.0\r\n\r\n"):
        with connect(port) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(sent)
    assert ask(port, "/readyz")[0] == 200
    assert "Traceback" not in "".join(capfd.readouterr())


async def test_invented_types_are_counted_together() -> None:
    """Headers of any text make no metric of their own, and no cycle overflows one."""
    log, clock, metrics = MemoryLog(), SystemClock(), ProcessMetrics("p", "c", "i1")
    bus = MeasuredBus(MemoryBus(log, "c"), LinkCounts, metrics, clock)
    for number in range(50):
        headers = {"ce-type": f"invented.{number}", "ce-correlationid": "c/i/" + "9" * 400}
        log.store([Message("foresail.c.control", headers, b"")], [number])
    async for _ in bus.history(["foresail.c.>"]):
        pass

    names = {
        sample.labels["type"]
        for family in metrics.events_read.collect()
        for sample in family.samples
    }
    assert names == {"other"}
