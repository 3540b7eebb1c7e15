"""Connections of the twin's server: each step has its time, and too much is turned away."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.api import connections, receiving, server
from twin.api.connections import create_server
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.engine import Engine
from twin.workloads import open_workload

MAPS = "/api/v1/namespaces/default/configmaps"


class Served:
    """A twin's server in this process, on a free port."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.token = token

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Open a connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """Return the head of a request with a token."""
        words = ("Host: twin", f"Authorization: Bearer {self.token}", *lines)
        return "\r\n".join((f"{method} {path} HTTP/1.1", *words, "", "")).encode()

    async def answer(self, sent: bytes) -> tuple[int, dict[str, str], Any]:
        """Send bytes on a connection of their own; return the answer, when it has been closed."""
        reader, writer = await self.open()
        writer.write(sent)
        found = await asyncio.wait_for(_all(reader), HANGS_SECONDS)
        writer.close()
        assert found, "no answer"
        head, _, body = found.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        length = int(headers.get("content-length", len(body)))
        return int(first.split()[1]), headers, json.loads(body[:length] or b"null")


async def _all(reader: asyncio.StreamReader) -> bytes:
    parts = []
    with suppress(ConnectionError):
        while part := await reader.read(1 << 16):
            parts.append(part)
    return b"".join(parts)


@asynccontextmanager
async def _serving() -> AsyncIterator[Served]:
    engine, tokens = Engine(None, 1), Tokens.draw()
    engine.add_nodes(open_workload("idle", nodes=3, seed=1).nodes)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    made = create_server(ApiServer(engine, tokens), None)
    running = asyncio.create_task(made.serve(sockets=[listener]))
    while not made.started:
        await asyncio.sleep(0.01)
    try:
        yield Served(listener.getsockname()[1], tokens.of_all()["admin"])
    finally:
        made.should_exit = True
        await running


Serve = Callable[[], Any]


@pytest.fixture
def serving() -> Serve:
    """Return what serves a small cluster inside a block."""
    return _serving


async def test_an_idle_stranger_is_sent_away(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection without a request, or with half a head, ends; one of a client that has asked stays."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    async with serving() as served:
        reader, writer = await served.open()
        writer.write(served.head("GET", "/version"))
        assert b"200 OK" in await reader.read(1 << 12)
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n"):
            status, headers, _ = await served.answer(sent)
            assert (status, headers["connection"]) == (408, "close")
        writer.write(served.head("GET", "/version"))
        assert b"200 OK" in await asyncio.wait_for(reader.read(1 << 12), HANGS_SECONDS)
        writer.close()


async def test_a_second_request_has_its_time_too(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known client that sends half a head, or only empty lines, is sent away as well."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.3)
    async with serving() as served:
        for rest in (b"GET / HT", b"\r\n"):
            reader, writer = await served.open()
            writer.write(served.head("GET", "/version"))
            assert b"200 OK" in await reader.read(1 << 12)
            writer.write(rest)
            assert b" 408 " in await asyncio.wait_for(_all(reader), HANGS_SECONDS)
            writer.close()


async def test_a_body_has_its_time(serving: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that does not arrive is answered with 408 and the end."""
    monkeypatch.setattr(receiving, "BODY_SECONDS", 0.3)
    async with serving() as served:
        status, headers, content = await served.answer(
            served.head("POST", MAPS, "Content-Length: 1000") + b"{"
        )

    assert (status, headers["connection"], content["kind"]) == (408, "close", "Status")


async def test_who_asks_is_established_first(serving: Serve) -> None:
    """A stranger's body is not waited for: the answer is 401 and the end; a made-up proxy is one."""
    async with serving() as served:
        for line in (b"", b"Authorization: Bearer x\r\n", b"X-Remote-User: admin\r\n"):
            head = b"POST %b HTTP/1.1\r\nHost: x\r\n%bContent-Length: 999\r\n\r\n"
            status, headers, _ = await served.answer(head % (MAPS.encode(), line))
            assert (status, headers["connection"]) == (401, "close")
        status, headers, _ = await served.answer(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
        assert status == 401


async def test_health_is_open_and_holds_no_connection(serving: Serve) -> None:
    """A stranger may ask how the server is, one connection for each question."""
    async with serving() as served:
        reader, writer = await served.open()
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
        actual = await asyncio.wait_for(_all(reader), HANGS_SECONDS)
        writer.close()

    assert b"200 OK" in actual
    assert b"connection: close" in actual


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01" * 100, 400),
        (b"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 100_000 + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\na: " + b"b" * 1_000_000, 431),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n", 414),
    ],
    ids=["no HTTP", "no method", "two lengths", "count", "size", "endless", "URL"],
)
async def test_a_bad_head_is_refused(serving: Serve, sent: bytes, status: int) -> None:
    """What is no HTTP, and heads beyond the limits, get a Status and the end."""
    async with serving() as served:
        actual, headers, content = await served.answer(sent)

    assert (actual, headers["connection"], content["code"]) == (status, "close", status)


async def test_a_body_that_is_no_http_is_refused(serving: Serve) -> None:
    """A chunk without a size gets 400, and nothing of its request is done."""
    async with serving() as served:
        head = served.head("DELETE", f"{MAPS}/kube-root-ca.crt", "Transfer-Encoding: chunked")
        status, _, content = await served.answer(head + b"zz\r\n")

    assert (status, content["kind"]) == (400, "Status")


async def test_a_request_cut_off_is_not_done(serving: Serve) -> None:
    """A client that goes away before its body is whole has changed nothing."""
    async with serving() as served:
        body = b'{"metadata":{"name":"cut"}}'
        head = served.head("POST", MAPS, "Content-Length: 10")
        _, _, made = await served.answer(
            served.head("POST", MAPS, f"Content-Length: {len(body)}", "Connection: close") + body
        )
        version = made["metadata"]["resourceVersion"]
        path = f"{MAPS}/cut"
        head = served.head("DELETE", path, "Content-Length: 100")
        _, writer = await served.open()
        writer.write(head)
        await writer.drain()
        writer.close()
        await asyncio.sleep(0.2)
        _, _, actual = await served.answer(served.head("GET", path, "Connection: close"))

    assert actual["metadata"]["resourceVersion"] == version


async def test_many_requests_at_once_are_answered_in_part(serving: Serve) -> None:
    """Of thousands that wait on one connection the first are answered, then it ends."""
    async with serving() as served:
        reader, writer = await served.open()
        writer.write(served.head("GET", "/version") * 2_000)
        actual = await asyncio.wait_for(_all(reader), HANGS_SECONDS)
        writer.close()

    assert 1 <= actual.count(b"HTTP/1.1 200") <= connections.MOST_PIPELINED + 1


async def test_a_full_server_makes_room_for_who_asks(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all connections are taken, one that has said nothing ends; if all have asked, 503."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 3)
    async with serving() as served:
        silent = [await served.open() for _ in range(3)]
        status, *_ = await served.answer(served.head("GET", "/version", "Connection: close"))
        assert status == 200
        for _, writer in silent:
            writer.close()
        await asyncio.sleep(0.2)
        asked = [await served.open() for _ in range(3)]
        for reader, writer in asked:
            writer.write(served.head("GET", "/version"))
            assert b"200 OK" in await reader.read(1 << 12)
        status, headers, _ = await served.answer(served.head("GET", "/version"))
        assert (status, headers["retry-after"]) == (503, "1")
        for _, writer in asked:
            writer.close()


async def test_watches_of_one_user_are_counted(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One watch too many gets 429; when another ends there is room again."""
    monkeypatch.setattr(server, "MOST_WATCHES", 2)
    async with serving() as served:
        watch = served.head("GET", f"{MAPS}?watch=true")
        opened = [await served.open() for _ in range(2)]
        for reader, writer in opened:
            writer.write(watch)
            assert b"200 OK" in await reader.read(1 << 12)
        status, headers, content = await served.answer(watch)
        assert (status, headers["retry-after"], content["kind"]) == (429, "1", "Status")
        opened[0][1].close()
        await asyncio.sleep(0.2)
        reader, writer = await served.open()
        writer.write(watch)
        assert b"200 OK" in await reader.read(1 << 12)
        for one in (writer, opened[1][1]):
            one.close()


async def test_bodies_that_arrive_are_counted(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all that is arriving would take too much memory, one is refused with 429."""
    monkeypatch.setattr(receiving, "MOST_HELD_BYTES", 5_000)
    async with serving() as served:
        _, writer = await served.open()
        writer.write(served.head("POST", MAPS, "Content-Length: 9000") + b" " * 4_000)
        await asyncio.sleep(0.2)
        head = served.head("POST", MAPS, "Content-Length: 2000")
        status, *_ = await served.answer(head + b" " * 2_000)
        assert status == 429
        writer.close()
        await asyncio.sleep(0.2)
        status, *_ = await served.answer(
            served.head("POST", MAPS, "Content-Length: 2000", "Connection: close") + b" " * 2_000
        )
        assert status == 400


async def test_a_client_that_reads_nothing_is_cut(
    serving: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stalled reader's connection ends, and with it what is kept for it."""
    monkeypatch.setattr(connections, "STALL_SECONDS", 0.3)
    async with serving() as served:
        big = json.dumps({"metadata": {"name": "big"}, "data": {"a": "x" * 1_000_000}}).encode()
        await served.answer(
            served.head("POST", MAPS, f"Content-Length: {len(big)}", "Connection: close") + big
        )
        reader, writer = await served.open()
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(served.head("GET", MAPS) * 30)
        await asyncio.sleep(1.5)
        reader._transport.resume_reading()  # type: ignore[attr-defined]
        actual = await asyncio.wait_for(_all(reader), HANGS_SECONDS)
        writer.close()

    assert len(actual) < 30 * 1_000_000


async def test_yaml_is_read_beside_others(serving: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a YAML body is being read another request is answered."""
    begun, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def read(body: bytes, _values: int) -> bytes:
        loop.call_soon_threadsafe(begun.set)
        go_on.wait(HANGS_SECONDS)
        return body

    monkeypatch.setattr(receiving, "_as_json", read)
    async with serving() as served:
        body = b'{"metadata":{"name":"slow"}}'
        lines = (f"Content-Length: {len(body)}", "Content-Type: application/yaml")
        waiting = asyncio.create_task(
            served.answer(served.head("POST", MAPS, *lines, "Connection: close") + body)
        )
        await begun.wait()
        status, *_ = await served.answer(served.head("GET", "/version", "Connection: close"))
        assert status == 200
        assert not waiting.done()
        go_on.set()
        assert (await waiting)[0] == 201
