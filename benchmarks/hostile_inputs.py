"""What a hostile client sends to the twin's server, for `benchmarks.twin_hostile`.

Each input is bytes of one request, or a function that acts on connections of its own.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/pods"
ANSWER_SECONDS = 60.0
CROWD = "crowd"
"""The door of what many connections do at once; shown, but no single request."""
SILENT = 150
"""Connections that are opened and say nothing."""


@dataclass(frozen=True, slots=True)
class Target:
    """A served twin."""

    host: str
    port: int
    trust: ssl.SSLContext
    token: str

    def plain(self) -> socket.socket:
        """Open a connection without a handshake."""
        return socket.create_connection((self.host, self.port), ANSWER_SECONDS)

    def open(self) -> ssl.SSLSocket:
        """Open a connection."""
        return self.trust.wrap_socket(self.plain(), server_hostname=self.host)

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """Return a request's head, with the token of an administrator."""
        words = (f"Host: {self.host}", f"Authorization: Bearer {self.token}", *lines)
        return "\r\n".join((f"{method} {path} HTTP/1.1", *words, "", "")).encode("latin-1")

    def sent(self, request: bytes) -> str:
        """Send one request; return the status of its answer, or that there is none."""
        with self.open() as connection:
            with suppress(OSError):  # refused before all of it was sent; the answer may be there
                connection.sendall(request)
            return status_of(connection)


@dataclass(frozen=True, slots=True)
class Hostile:
    """One input."""

    door: str
    name: str
    send: Callable[[Target], str]
    """Returns the answer in a word or two."""
    slow: bool = False
    """Whether it takes its time on purpose; tried once."""


def status_of(connection: socket.socket) -> str:
    """Return the status code that is answered; `none` when the connection ends without one."""
    try:
        line = connection.recv(64)
        while connection.recv(1 << 16) and b"HTTP/1.1 200" not in line:
            pass
    except TimeoutError:
        return line.split()[1].decode() if line else "none"
    except (ConnectionError, OSError):
        pass
    return line.split()[1].decode() if line else "none"


def request(
    door: str, name: str, method: str, path: str, body: bytes = b"", kind: str = "", *more: str
) -> Hostile:
    """Return an input that is one request."""

    def send(target: Target) -> str:
        lines = [*more, "Connection: close"]
        if body:
            lines += [f"Content-Type: {kind or 'application/json'}", f"Content-Length: {len(body)}"]
        return target.sent(target.head(method, path, *lines) + body)

    return Hostile(door, name, send)


def heads() -> Iterator[Hostile]:
    """Yield what is wrong before a request is whole."""
    stranger = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" % MAPS.encode()
    yield Hostile("head", "3 MB from a stranger", lambda to: to.sent(stranger + b"[" * 3_000_000))
    yield Hostile("head", "no HTTP", lambda to: to.sent(b"\x16\x03\x01" * 1_000))
    yield Hostile(
        "head",
        "a header of 1 MB",
        lambda to: to.sent(to.head("GET", PODS)[:-2] + b"a: " + b"b" * 1_000_000),
    )
    many = tuple(f"a{n}: b" for n in range(3_000))
    yield Hostile("head", "3,000 headers", lambda to: to.sent(to.head("GET", PODS, *many)))
    yield Hostile(
        "head", "10,000 requests at once", lambda to: to.sent(to.head("GET", "/version") * 10_000)
    )
    proxied = b"GET %b HTTP/1.1\r\nHost: x\r\nX-Remote-User: admin\r\n\r\n" % PODS.encode()
    yield Hostile("head", "a made-up front proxy user", lambda to: to.sent(proxied))
    unread = "Transfer-Encoding: chunked"
    yield Hostile(
        "head", "a chunk of no size", lambda to: to.sent(to.head("POST", MAPS, unread) + b"zz\r\n")
    )
    yield Hostile(
        "head",
        "two lengths",
        lambda to: to.sent(to.head("POST", MAPS, "Content-Length: 1", "Content-Length: 2") + b"ab"),
    )


def connections() -> Iterator[Hostile]:
    """Yield clients that take their time."""

    def plain(target: Target) -> str:
        return _close_all([target.plain() for _ in range(SILENT)])

    def silent(target: Target) -> str:
        return _close_all([target.open() for _ in range(SILENT)])

    def half(target: Target) -> str:
        opened = [target.open() for _ in range(SILENT)]
        for connection in opened:
            connection.sendall(target.head("GET", PODS)[:-2])
        return _close_all(opened)

    def body(target: Target) -> str:
        opened = [target.open() for _ in range(50)]
        for connection in opened:
            connection.sendall(target.head("POST", MAPS, "Content-Length: 1000") + b"{")
        return _close_all(opened)

    yield Hostile("connection", f"{SILENT} without a handshake", plain, slow=True)
    yield Hostile("connection", f"{SILENT} without a request", silent, slow=True)
    yield Hostile("connection", f"{SILENT} with half a head", half, slow=True)
    yield Hostile("connection", "50 with half a body", body, slow=True)
    yield Hostile(CROWD, "1,500 connections at a time", _crowd, slow=True)
    yield Hostile(CROWD, "300 watches of one user", _watches, slow=True)
    yield Hostile(CROWD, "20 watches that read nothing", _deaf, slow=True)


def _close_all(opened: list[Any]) -> str:
    """Return how many seconds it took the server to close all of these connections."""
    began = time.monotonic()
    for connection in opened:
        connection.settimeout(max(0.1, ANSWER_SECONDS - (time.monotonic() - began)))
        try:
            while connection.recv(1 << 12):
                pass
        except TimeoutError:
            return "none: they stay"
        except OSError:
            pass
        connection.close()
    return f"closed after {time.monotonic() - began:.0f} s"


def _crowd(target: Target) -> str:
    opened: list[ssl.SSLSocket] = []
    answers = []
    try:
        for _ in range(1_500):
            try:
                connection = target.open()
                connection.sendall(target.head("GET", "/version"))
                opened.append(connection)
            except OSError:
                answers.append("refused")
        for connection in opened:
            try:
                answers.append(connection.recv(64).split()[1].decode())
            except (OSError, IndexError):
                answers.append("refused")
    finally:
        for connection in opened:
            connection.close()
    return ", ".join(f"{answers.count(word)} x {word}" for word in sorted(set(answers)))


def _watches(target: Target) -> str:
    opened, answers = [], []
    for _ in range(300):
        connection = target.open()
        connection.sendall(target.head("GET", f"{MAPS}?watch=true"))
        answers.append(connection.recv(64).split()[1].decode())
        opened.append(connection)
    for connection in opened:
        connection.close()
    return ", ".join(f"{answers.count(word)} x {word}" for word in sorted(set(answers)))


def _deaf(target: Target) -> str:
    opened = []
    for _ in range(20):
        connection = target.open()
        connection.sendall(target.head("GET", f"{PODS}?watch=true&resourceVersion=0"))
        opened.append(connection)
    time.sleep(3)
    for connection in opened:
        connection.close()
    return "left after 3 s"
