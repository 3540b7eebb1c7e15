"""What a hostile client sends to the twin's server, for `benchmarks.twin_hostile`.

Each input is bytes of one request, or a function that acts on connections of its own.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/pods"
YAML = "application/yaml"
STEPS = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"
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


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _map(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hostile"}, **more}


def bodies() -> Iterator[Hostile]:
    """Yield bodies that are costly to read."""
    aliases = b"a: &a [x, x]\n" + b"".join(
        b"%c: &%c [*%c, *%c]\n" % (n, n, n - 1, n - 1) for n in range(ord("b"), ord("z"))
    )
    create = ("POST", MAPS)
    yield request("body", "YAML, 430 bytes of nested aliases", *create, aliases, YAML)
    yield request("body", "YAML, 20 kB of brackets", *create, b"[" * 20_000, YAML)
    yield request("body", "YAML, 20 kB of nested maps", *create, b"{a: " * 5_000, YAML)
    yield request("body", "YAML, 20 kB of nested lists", *create, b"- " * 10_000, YAML)
    yield request("body", "YAML, 400 kB of directives", *create, b"%TAG !a! b\n" * 40_000, YAML)
    yield request("body", "YAML, a number in base 60", *create, b"a: 1" + b":1" * 200_000, YAML)
    yield request(
        "body", "YAML, 1 MB in one text", *create, b"a: '" + b"x\n " * 300_000 + b"'", YAML
    )
    yield request("body", "YAML, 3 MB of comments", *create, b"#\n" * 1_500_000, YAML)
    flat = b"\n".join(b"k%d: v" % n for n in range(1_900))
    yield request("body", "YAML, as many values as are read", *create, flat, YAML)
    yield request("body", "YAML as an apply", "PATCH", f"{MAPS}/x?fieldManager=a", aliases, APPLY)
    yield request("body", "JSON, 3 MB of empty lists", *create, b"[" + b"[]," * 900_000 + b"1]")
    yield request("body", "JSON, 100 kB of brackets", *create, b"[" * 100_000)
    yield request("body", "JSON, a number of 1 MB", *create, b'{"a":' + b"9" * 1_000_000 + b"}")
    yield request("body", "JSON, 3 MB of escapes", *create, b'{"a":"' + b"\\n" * 1_400_000 + b'"}')
    yield request("body", "JSON, 3 MB of quotes", *create, b'"' * 3_000_000)
    yield request(
        "body", "JSON, one key 9,000 times", *create, b"{" + b'"a":1,' * 9_000 + b'"b":1}'
    )
    yield request("body", "4 MB", *create, _json(_map(data={"a": "x" * 4_000_000})))
    yield request(
        "body",
        "gzip of 100 MB",
        *create,
        gzip.compress(b" " * 100_000_000, 1),
        "",
        "Content-Encoding: gzip",
    )
    many = b"k8s\0" + b"\x12\xfe\xff\x7f" + b"\x0a\x00" * 1_000_000
    yield request("body", "protobuf, a million records", *create, many, PROTOBUF)
    full = _json(_map(data={f"k{n}": "v" for n in range(1_900)}))
    yield request("body", "as many values as are stored", *create, full)
    yield request(
        "body",
        "annotations of 300 kB",
        *create,
        _json(_map(metadata={"name": "a", "annotations": {"a": "x" * 300_000}})),
    )
    yield request(
        "body",
        "1,900 bad labels",
        *create,
        _json(_map(metadata={"name": "a", "labels": {f"k {n}": "v v" for n in range(1_900)}})),
    )
    yield request(
        "body",
        "a field name with a line break",
        *create,
        _json({"metadata": {"generateName": "odd-"}, "a\r\nb": 1}),
    )
    whole = _map(metadata={"name": "applied"}, data={f"k{n}": "v" for n in range(1_900)})
    yield request(
        "body",
        "apply of 1,900 fields",
        "PATCH",
        f"{MAPS}/applied?fieldManager=a",
        _json(whole),
        APPLY,
    )
    put = [{"op": "add", "path": "/data", "value": {"a": "x"}}]
    doubling = [{"op": "copy", "from": "/data", "path": f"/data/{n}"} for n in range(60)]
    target = f"{MAPS}/applied"
    yield request(
        "body",
        "JSON patch that doubles with each step",
        "PATCH",
        target,
        _json(put + doubling),
        STEPS,
    )
    yield request(
        "body",
        "JSON patch of 2,400 steps",
        "PATCH",
        target,
        _json([{"op": "test", "path": "/kind", "value": "ConfigMap"}] * 2_400),
        STEPS,
    )
    yield request(
        "body",
        "JSON patch with a path of 100,000 parts",
        "PATCH",
        target,
        _json([{"op": "test", "path": "/a" * 100_000, "value": 1}]),
        STEPS,
    )
    names = [f"a/b{n}" for n in range(1_900)]
    yield request(
        "body",
        "strategic merge of 1,900 names",
        "PATCH",
        target,
        _json({"metadata": {"finalizers": names}}),
        STRATEGIC,
    )
    yield request(
        "body", "manager of 5,000 characters", "POST", f"{MAPS}?fieldManager={'m' * 5_000}", full
    )
    yield request("body", "an unknown dryRun", "POST", f"{MAPS}?dryRun=Maybe", full)


def paths() -> Iterator[Hostile]:
    """Yield paths and queries that are costly to answer."""
    brackets = "W1tb" * 700
    yield request("query", "continue of nested brackets", "GET", f"{PODS}?continue={brackets}")
    yield request(
        "query", "resourceVersion of 5,000 digits", "GET", f"{PODS}?resourceVersion={'9' * 5_000}"
    )
    yield request("query", "limit of 30 digits", "GET", f"{PODS}?limit={'9' * 30}")
    yield request("query", "limit=1000000", "GET", f"{PODS}?limit=1000000")
    yield request(
        "query",
        "timeoutSeconds of 30 digits",
        "GET",
        f"{PODS}?watch=true&timeoutSeconds={'9' * 30}",
    )
    yield request(
        "query", "selector of 16,000 commas", "GET", f"{PODS}?labelSelector={'a,' * 8_000}"
    )
    yield request(
        "query", "selector of 100 terms", "GET", f"{PODS}?labelSelector={'a!=b,' * 99}c!=d"
    )
    yield request(
        "query",
        "field selector on all pods",
        "GET",
        f"{PODS}?fieldSelector=spec.restartPolicy=Never",
    )
    yield request(
        "query",
        "the same, one page",
        "GET",
        f"{PODS}?limit=1&fieldSelector=spec.restartPolicy=Never",
    )
    yield request("query", "10,000 parameters", "GET", f"{PODS}?{'a=b&' * 7_000}")
    yield request("query", "a URL of 60 kB", "GET", f"{PODS}?a={'b' * 60_000}")
    yield request("query", "a name of 20 kB", "GET", f"{MAPS}/{'n' * 20_000}")
    yield request("query", "a method that is none", "BREW", PODS)
    accepted = ",".join(["application/json;as=Table;v=v9;g=x"] * 1_500)
    yield request(
        "query", "an Accept of 50 kB", "GET", f"{PODS}?limit=1", b"", "", f"Accept: {accepted}"
    )
    yield request(
        "query",
        "all pods as a table",
        "GET",
        PODS,
        b"",
        "",
        "Accept: application/json;as=Table;v=v1;g=meta.k8s.io",
    )
    yield request("query", "all pods as YAML", "GET", PODS, b"", "", "Accept: application/yaml")
    yield request(
        "query", "300 pods as YAML", "GET", f"{PODS}?limit=300", b"", "", "Accept: application/yaml"
    )
    yield request("query", "all pods with indents", "GET", f"{PODS}?pretty=true")
    yield request(
        "query",
        "upgrade to a WebSocket",
        "GET",
        f"{PODS}?watch=true&timeoutSeconds=1",
        b"",
        "",
        "Upgrade: websocket",
        "Connection: Upgrade",
    )
    clock = "/foresail/v1/clock"
    for step in (1e300, -1, 0, "x", True, None, [[]]):
        yield request(
            "clock",
            f"step_seconds {json.dumps(step)[:8]}",
            "POST",
            clock,
            _json({"step_seconds": step}),
        )
    yield request("clock", "speed 1e300", "POST", clock, b'{"speed":1e300}')
    yield request("clock", "a step of a year", "POST", clock, b'{"step_seconds":31536000}')
    yield request("clock", "as before again", "POST", clock, b'{"paused":false,"speed":1}')


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
        return _closed([target.plain() for _ in range(SILENT)])

    def silent(target: Target) -> str:
        return _closed([target.open() for _ in range(SILENT)])

    def half(target: Target) -> str:
        opened = [target.open() for _ in range(SILENT)]
        for one in opened:
            one.sendall(target.head("GET", PODS)[:-2])
        return _closed(opened)

    def body(target: Target) -> str:
        opened = [target.open() for _ in range(50)]
        for one in opened:
            one.sendall(target.head("POST", MAPS, "Content-Length: 1000") + b"{")
        return _closed(opened)

    yield Hostile("connection", f"{SILENT} without a handshake", plain, slow=True)
    yield Hostile("connection", f"{SILENT} without a request", silent, slow=True)
    yield Hostile("connection", f"{SILENT} with half a head", half, slow=True)
    yield Hostile("connection", "50 with half a body", body, slow=True)
    yield Hostile(CROWD, "1,500 connections at a time", _crowd, slow=True)
    yield Hostile(CROWD, "300 watches of one user", _watches, slow=True)
    yield Hostile(CROWD, "20 watches that read nothing", _deaf, slow=True)


def _closed(opened: list[Any]) -> str:
    """Return how many seconds it took the server to close all of these connections."""
    began = time.monotonic()
    for one in opened:
        one.settimeout(max(0.1, ANSWER_SECONDS - (time.monotonic() - began)))
        try:
            while one.recv(1 << 12):
                pass
        except TimeoutError:
            return "none: they stay"
        except OSError:
            pass
        one.close()
    return f"closed after {time.monotonic() - began:.0f} s"


def _crowd(target: Target) -> str:
    opened: list[ssl.SSLSocket] = []
    answers = []
    try:
        for _ in range(1_500):
            try:
                one = target.open()
                one.sendall(target.head("GET", "/version"))
                opened.append(one)
            except OSError:
                answers.append("refused")
        for one in opened:
            try:
                answers.append(one.recv(64).split()[1].decode())
            except (OSError, IndexError):
                answers.append("refused")
    finally:
        for one in opened:
            one.close()
    return ", ".join(f"{answers.count(word)} x {word}" for word in sorted(set(answers)))


def _watches(target: Target) -> str:
    opened, answers = [], []
    for _ in range(300):
        one = target.open()
        one.sendall(target.head("GET", f"{MAPS}?watch=true"))
        answers.append(one.recv(64).split()[1].decode())
        opened.append(one)
    for one in opened:
        one.close()
    return ", ".join(f"{answers.count(word)} x {word}" for word in sorted(set(answers)))


def _deaf(target: Target) -> str:
    opened = []
    for _ in range(20):
        one = target.open()
        one.sendall(target.head("GET", f"{PODS}?watch=true&resourceVersion=0"))
        opened.append(one)
    time.sleep(3)
    for one in opened:
        one.close()
    return "left after 3 s"


def all_inputs() -> list[Hostile]:
    """Return every input, the slow ones last."""
    return [*bodies(), *paths(), *heads(), *connections()]
