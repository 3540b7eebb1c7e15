"""Clients of the dashboard that are slow, endless or absurd are refused, and nobody else waits."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import httpx
import pytest

from bus.clock import SystemClock
from bus.port import Message
from services.dashboard import connections
from tests.builders import ORIGIN
from tests.dashboard.served_page import ServedPage
from tests.patience import HANGS_SECONDS

HEAD = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
END = b"Connection: close\r\n\r\n"


@contextmanager
def connect(page: ServedPage) -> Iterator[socket.socket]:
    """Connect once the page is served."""
    deadline = SystemClock().monotonic() + HANGS_SECONDS
    while True:
        with suppress(ConnectionRefusedError):
            client = socket.create_connection(
                ("127.0.0.1", page.settings.port), timeout=HANGS_SECONDS
            )
            break
        assert SystemClock().monotonic() < deadline
    with closing(client):
        yield client


def answer_to(page: ServedPage, request: bytes) -> bytes:
    """Send bytes; return everything until the server closes the connection."""
    with connect(page) as client:
        with suppress(ConnectionError):  # it may close before it has read all
            client.sendall(request)
        return read_until_closed(client)


def read_until_closed(client: socket.socket) -> bytes:
    """Return what comes until the connection ends; a client's own time-out is an error."""
    found = b""
    with suppress(ConnectionError):
        while piece := client.recv(65_536):
            found += piece
    return found


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET /api/events/" + b"9" * 5_000 + HEAD + END, 404),
        (b"GET /api/events/99999999999999999999" + HEAD + END, 404),
        (b"GET /api/events/-1" + HEAD + END, 404),
        (b"GET /api/cycles/" + b"9" * 5_000 + HEAD + END, 404),
        (b"GET /static/%00" + HEAD + END, 404),
        (b"GET /static/%2e%2e/app.py" + HEAD + END, 404),
        (b"GET /static/" + b"a" * 5_000 + HEAD + END, 404),
        (b"GET /" + HEAD + b"X: " + b"a" * 200_000 + b"\r\n" + END, 400),
        (b"GET /" + HEAD + b"X: " + b"a" * 5_000_000, 400),
        (b"GET /" + HEAD + b"".join(b"X%d: 1\r\n" % n for n in range(3_000)) + END, 400),
        (b"POST /" + HEAD + b"Content-Length: 1000000000\r\n\r\n" + b"a" * 3_000_000, 405),
        (b"POST /" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n" + b"a" * 9_000, 405),
        (b"GET /healthz" + HEAD + b"Content-Length: 1000000000\r\n\r\naaa", 200),
        (b"\x16\x03\x01" + b"\0" * 200, 400),
        (b"\xff" * 200 + b"\r\n\r\n", 400),
    ],
    ids=lambda value: value[:24].decode(errors="replace") if isinstance(value, bytes) else None,
)
def test_an_absurd_request_is_answered_and_closed(
    served_page: ServedPage, request_bytes: bytes, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each gets its status, the connection ends, and no traceback is written."""
    assert answer_to(served_page, request_bytes).startswith(b"HTTP/1.1 %d " % status)
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("number", [b"9" * 5_000, b"\xb2", b"-1", b"1e3"])
def test_an_absurd_last_event_id_begins_anew(served_page: ServedPage, number: bytes) -> None:
    """A Last-Event-ID that is no position gets the whole page, as if none had been sent."""
    with connect(served_page) as client:
        client.sendall(b"GET /api/stream" + HEAD + b"Last-Event-ID: " + number + b"\r\n\r\n")
        found = b""
        while b"event: update" not in found:
            found += client.recv(65_536)
    assert found.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("begun", [b"", b"GET / HTT", b"GET /healthz" + HEAD + b"\r\nGET / HTT"])
def test_a_slow_request_is_closed(
    served_page: ServedPage, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a whole request in time the connection ends, the first on it or a later one."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.2)
    with connect(served_page) as client:
        client.sendall(begun)
        assert read_until_closed(client).count(b"HTTP/1.1 200") == begun.count(b"healthz")


def test_the_oldest_waiting_connection_gives_way(
    served_page: ServedPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-open connections do not keep a new client out: the one that waited longest is closed."""
    monkeypatch.setattr(connections, "MOST_WAITING", 2)
    with (
        connect(served_page) as first,
        connect(served_page) as second,
        connect(served_page) as third,
    ):
        assert b"" == read_until_closed(first)
        for client in (second, third):
            client.sendall(b"GET /healthz" + HEAD + END)
            assert b"200 OK" in read_until_closed(client)


def test_an_open_page_is_no_slow_request(
    served_page: ServedPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream goes on after the time that a request may take."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.05)
    with connect(served_page) as client:
        client.sendall(b"GET /api/stream" + HEAD + b"\r\n")
        client.settimeout(0.4)
        with pytest.raises(TimeoutError):
            read_until_closed(client)


def test_who_does_not_read_is_closed(
    served_page: ServedPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that asks on and on and never reads loses its connection."""
    monkeypatch.setattr(connections, "READ_SECONDS", 0.2)
    asked = (b"GET /api/state" + HEAD + b"\r\n") * 50
    with connect(served_page) as client, pytest.raises(ConnectionError):
        send_for_long(client, asked)


def send_for_long(client: socket.socket, data: bytes) -> None:
    """Send the same bytes again and again."""
    deadline = SystemClock().monotonic() + HANGS_SECONDS
    while SystemClock().monotonic() < deadline:
        client.sendall(data)


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"9" * 5_000, b'{"a": NaN}', b"[1e400]", b'"\\ud800"', b"\xff", b"", b"{}"],
    ids=lambda data: repr(data[:10]),
)
def test_a_strange_message_is_served(served_page: ServedPage, data: bytes) -> None:
    """A stored message of any bytes is shown: as JSON where it is JSON, else as text."""
    log = served_page.filled.log
    subject = f"foresail.{ORIGIN.cluster}.control"
    with connect(served_page):
        log.store([Message(subject, {"ce-type": "x"}, data)], [log.newest_seq(subject)])
    answer = httpx.get(f"{served_page.url}/api/events/{log.last_seq}")

    assert answer.status_code == 200
    assert json.loads(answer.content)["data"] == (
        {} if data == b"{}" else data.decode(errors="replace")
    )
    assert httpx.get(f"{served_page.url}/healthz").status_code == 200
