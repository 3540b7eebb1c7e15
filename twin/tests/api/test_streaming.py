"""Watches on the wire: every line in order, and an end for who does not keep up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.api import streaming
from twin.api.messages import WatchResponse
from twin.api.streaming import Backlog, stream
from twin.engine import Engine


def uncut(_cut: Callable[[bytes], None]) -> Callable[[], None]:
    """Know no fault that cuts watches."""
    return lambda: None


class Client:
    """Takes what is sent; stops reading after some messages."""

    def __init__(self, reads: int | None = None) -> None:
        self.bodies: list[bytes] = []
        self.ended = False
        self._reads = reads
        self._stuck = asyncio.Event()

    async def send(self, message: dict[str, Any]) -> None:
        """Take one message, or none any more."""
        if message["type"] != "http.response.body":
            return
        if self._reads is not None and len(self.bodies) >= self._reads:
            await self._stuck.wait()
        self.bodies.append(message["body"])
        self.ended = not message.get("more_body", False)


def _watch(**others: Any) -> WatchResponse:
    def translate(change: Any) -> bytes:
        return f"{change.name}\n".encode()

    return WatchResponse(iter((b"first\n",)), translate, None, None, **others)


def _write(engine: Engine, numbers: range) -> None:
    for number in numbers:
        engine.store.create("configmaps", "default", {"metadata": {"name": f"m{number}"}})


async def test_lines_arrive_in_order() -> None:
    """A client that reads gets the initial lines, then every change once."""
    engine, client = Engine(None, 1), Client()
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(stream(engine.store, _watch(), [], client.send, future, uncut))
    await asyncio.sleep(0)
    for start in range(0, 2_000, 500):
        _write(engine, range(start, start + 500))
        await asyncio.sleep(0)
    expected = b"first\n" + b"".join(b"m%d\n" % number for number in range(2_000))
    async with asyncio.timeout(HANGS_SECONDS):
        while b"".join(client.bodies) != expected:
            await asyncio.sleep(0)
    future.set_result(None)
    await task
    assert not client.ended


async def test_who_does_not_read_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that reads nothing costs no more than the backlog, and its watch ends."""
    monkeypatch.setattr(streaming, "CUT_SECONDS", 0.01)
    engine, client = Engine(None, 1), Client(reads=1)
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    task = asyncio.ensure_future(stream(engine.store, _watch(), [], client.send, future, uncut))
    await asyncio.sleep(0)
    _write(engine, range(streaming.BACKLOG_LINES + 10))
    async with asyncio.timeout(HANGS_SECONDS):
        await task
    assert len(client.bodies) == 1


async def test_a_finished_answer_ends() -> None:
    """An answer that says it is over ends after its initial lines."""
    engine, client = Engine(None, 1), Client()
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    async with asyncio.timeout(HANGS_SECONDS):
        await stream(engine.store, _watch(over=lambda: True), [], client.send, future, uncut)
    assert b"".join(client.bodies) == b"first\n"
    assert client.ended


@pytest.mark.parametrize(("lines", "size"), [(3, 1_000), (1_000, 30)])
def test_a_backlog_is_bounded(lines: int, size: int) -> None:
    """Neither more lines nor more bytes are kept than allowed, and what is kept has no hole."""
    backlog = Backlog(lines, size)
    for number in range(1_000):
        backlog.put(b"%09d\n" % number)
    assert backlog.overrun
    assert backlog.take() == b"000000000\n000000001\n000000002\n"
    assert backlog.empty


async def test_a_watch_gets_a_bookmark_before_it_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, behind all that came before; a watch of two seconds or less is too short for one."""
    seconds = 10 * HANGS_SECONDS
    monkeypatch.setattr(streaming, "BOOKMARK_SECONDS", seconds)
    monkeypatch.setattr(streaming, "LAST_BOOKMARK_SECONDS", seconds - 0.01)
    engine, client = Engine(None, 1), Client()
    gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def watch(time_out: float) -> asyncio.Future[None]:
        answer = replace(_watch(), timeout_seconds=time_out, bookmark=lambda: b"mark\n")
        return asyncio.ensure_future(stream(engine.store, answer, [], client.send, gone, uncut))

    task = watch(seconds)
    async with asyncio.timeout(HANGS_SECONDS):
        while b"mark\n" not in b"".join(client.bodies):
            await asyncio.sleep(0)
    _write(engine, range(1))
    async with asyncio.timeout(HANGS_SECONDS):
        while b"m0\n" not in b"".join(client.bodies):
            await asyncio.sleep(0)
    gone.set_result(None)
    await task
    assert b"".join(client.bodies) == b"first\nmark\nm0\n"

    gone, client = asyncio.get_running_loop().create_future(), Client()
    async with asyncio.timeout(HANGS_SECONDS):
        await watch(0.02)
    assert b"".join(client.bodies) == b"first\n"


async def test_a_silent_watch_gets_bookmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A watch to which nothing was sent for a while gets a bookmark, again and again; one without gets nothing."""
    monkeypatch.setattr(streaming, "BOOKMARK_SECONDS", 0.01)
    bodies = []
    for bookmark in (lambda: b"mark\n", None):
        engine, client = Engine(None, 1), Client()
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer = WatchResponse(iter(()), lambda _change: None, bookmark, None)
        task = asyncio.ensure_future(stream(engine.store, answer, [], client.send, gone, uncut))
        async with asyncio.timeout(HANGS_SECONDS):
            while bookmark is not None and client.bodies.count(b"mark\n") < 3:
                await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        gone.set_result(None)
        await task
        bodies.append(b"".join(client.bodies))
    assert bodies[0].startswith(b"mark\nmark\nmark\n")
    assert bodies[1] == b""
