"""Lists that the executor follows: when they are known, and when the server has to be asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress
from random import Random
from typing import Any

import pytest

from bus.memory_adapter import MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from schemas.identity import Origin
from services.byte_stream import Piece
from services.cluster import ApiResponse, ClusterRefused, ClusterUnavailable
from services.executor.reading.followed_lists import FOLLOWED, FollowedLists
from services.executor.service import run
from services.executor.settings import ExecutorSettings
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Pod
from tests.cluster.test_kube_follow import (
    PODS,
    LoopClock,
    ScriptedServer,
    quiet,
    refuses,
    says,
)
from tests.cluster.test_kube_index import line

DECODER = list_decoder(Pod)
POD_PATH = "/api/v1/namespaces/shop/pods/a"


class Server(ScriptedServer):
    """A scripted server that takes writes, each of which makes `written` the object's version."""

    written = "9"

    async def request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *rest: Any
    ) -> ApiResponse:
        """Answer a list or a write."""
        if method == "GET":
            return await super().request(method, path, query, *rest)
        content = {"metadata": {"name": "a", "resourceVersion": self.written}}
        return ApiResponse(200, json.dumps(content).encode(), self.now)


def follow(server: Server, body: Callable[[FollowedLists], Awaitable[None]]) -> None:
    """Run `body` with a server's pods followed, a second after the beginning."""

    async def run() -> None:
        lists = FollowedLists(server, LoopClock(), Random(1), {PODS: Pod})
        async with lists.running():
            await asyncio.sleep(1.0)
            await body(lists)

    run_virtual(run)


async def names(lists: FollowedLists, query: Mapping[str, str] | None = None) -> list[str]:
    """Return the names of the pods that a plan would be made with."""
    listed = await read_list(lists, PODS, DECODER, query)
    return [pod.metadata.name for pod in listed.items]


def test_a_followed_list_is_read_once() -> None:
    """Plans are made with what the watch has brought; its time is now."""
    server = Server()
    server.watches = [quiet(line("ADDED", "b", "8") + b"\n")]

    async def body(lists: FollowedLists) -> None:
        assert [await names(lists) for _ in range(3)] == [["a", "b"]] * 3
        known = lists.known_list(PODS)
        assert known is not None
        assert (known.resource_version, known.cluster_time_seconds) == ("8", server.now)
        assert server.lists == 1

    follow(server, body)


def test_a_part_of_a_list_is_asked_of_the_server() -> None:
    """What is asked for by a selector, or lies elsewhere, is not known here."""
    server = Server()

    async def body(lists: FollowedLists) -> None:
        await names(lists, {"fieldSelector": "spec.nodeName=n1"})
        assert server.lists == 2
        assert lists.known_list("/api/v1/nodes") is None

    follow(server, body)


@pytest.mark.parametrize(
    ("query", "known"),
    [(None, False), ({}, False), ({"dryRun": "All"}, True)],
    ids=["a write", "a write without a query", "a dry run"],
)
def test_after_a_write_the_list_is_known_again_once_it_holds_it(
    query: Mapping[str, str] | None, known: bool
) -> None:
    """A plan is never made without what the plan before it has written; a dry run writes nothing."""
    server = Server()
    changes = [line("MODIFIED", "a", version) + b"\n" for version in ("8", "9")]
    server.watches = [says(*changes, every=5.0)]

    async def body(lists: FollowedLists) -> None:
        await lists.request("PATCH", POD_PATH, query, {})
        assert (lists.known_list(PODS) is not None) == known
        await asyncio.sleep(6.0)  # another's change, in an earlier version
        assert (lists.known_list(PODS) is not None) == known
        await asyncio.sleep(5.0)
        assert lists.known_list(PODS) is not None

    follow(server, body)


def test_a_write_that_changes_nothing_does_not_hide_the_one_before() -> None:
    """It answers with the old version of its object, which the list has long had."""
    server = Server()

    async def body(lists: FollowedLists) -> None:
        await lists.request("PATCH", POD_PATH, {}, {})
        server.written = "3"
        await lists.request("PATCH", "/api/v1/namespaces/shop/pods/b", {}, {})
        assert lists.known_list(PODS) is None

    follow(server, body)


@pytest.mark.parametrize("path", [f"{POD_PATH}/eviction", f"{POD_PATH}/resize"])
def test_writes_by_subresources_count(path: str) -> None:
    """They change the same object."""

    async def body(lists: FollowedLists) -> None:
        await lists.request("POST", path, {}, {})
        assert lists.known_list(PODS) is None

    follow(Server(), body)


def test_a_list_that_may_not_be_watched_is_asked_of_the_server() -> None:
    """As without following."""
    server = Server()
    server.watches = [refuses(ClusterRefused(403, "Forbidden", "cannot watch"))]

    async def body(lists: FollowedLists) -> None:
        assert lists.known_list(PODS) is None
        assert await names(lists) == ["a"]

    follow(server, body)


def test_a_version_that_is_no_number_is_never_reached() -> None:
    """The server is asked then, as without following."""
    server = Server()
    server.written = "opaque"

    async def body(lists: FollowedLists) -> None:
        await lists.request("PATCH", POD_PATH, {}, {})
        assert await names(lists) == ["a"]
        assert server.lists == 2

    follow(server, body)


def test_a_list_whose_watch_is_lost_is_asked_of_the_server() -> None:
    """What it brought before may be out of date."""
    server = Server()
    server.watches = [says(then=ClusterUnavailable("reset")), refuses(ClusterUnavailable("down"))]

    async def body(lists: FollowedLists) -> None:
        await asyncio.sleep(5.0)
        assert lists.known_list(PODS) is None

    follow(server, body)


async def hangs(_query: Mapping[str, str]) -> AsyncGenerator[Piece]:
    """Take the request for a watch and never answer it."""
    await asyncio.sleep(1e9)
    yield b""


def test_a_silent_list_is_asked_of_the_server() -> None:
    """Bookmarks come every minute, so without a byte for longer the server may hang."""
    server = Server()
    server.watches = [quiet(), hangs]

    async def body(lists: FollowedLists) -> None:
        await asyncio.sleep(85.0)
        assert lists.known_list(PODS) is not None
        await asyncio.sleep(10.0)
        assert lists.known_list(PODS) is None

    follow(server, body)


class Observed(ScriptedServer):
    """A server of everything that notes which paths are watched."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: set[str] = set()

    async def request(self, *_: Any) -> ApiResponse:
        """Answer any list."""
        return ApiResponse(200, b'{"metadata":{"resourceVersion":"7"},"items":[]}', self.now)

    async def watch(
        self, path: str, query: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncGenerator[Piece]:
        """Note the path."""
        del query, silent_seconds
        self.watched.add(path)
        await asyncio.sleep(1e9)
        yield b""


@pytest.mark.parametrize(("speed", "followed"), [(1.0, set(FOLLOWED)), (20.0, set())])
def test_lists_are_followed_in_real_time_alone(speed: float, followed: set[str]) -> None:
    """Between two answers of a server in time lapse nobody knows its time, by which plans are dated."""
    server = Observed()

    async def body() -> None:
        bus = MemoryBus(MemoryLog(), "test")
        with suppress(TimeoutError):
            async with asyncio.timeout(5.0):
                await run(
                    ExecutorSettings(speed=speed), bus, LoopClock(), Origin("test", "1"), server
                )

    run_virtual(body)
    assert server.watched == followed
