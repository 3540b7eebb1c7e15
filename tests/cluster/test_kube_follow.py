"""Following a list: what an informer does when the server ends, breaks, refuses, forgets or falls silent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from random import Random
from typing import Any

import pytest

from bus.item_errors import ItemErrors
from bus.virtual_loop import run_virtual
from services.byte_stream import Piece, StreamOpened
from services.cluster import ApiResponse, ClusterRefused, ClusterUnavailable
from services.kube_follow import ClusterTime, FollowedList, FollowTimes
from services.kube_objects import Pod
from tests.cluster.test_kube_index import line

PODS = "/api/v1/pods"
START = 1_700_000_000.0


class LoopClock:
    """The loop's own time, which is virtual here."""

    def wall_ns(self) -> int:
        """Return the loop's time."""
        return int((START + self.monotonic()) * 1e9)

    def monotonic(self) -> float:
        """Return the loop's time."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


Answer = Callable[[Mapping[str, str]], AsyncGenerator[Piece]]


class ScriptedServer:
    """Answers lists with `pods` at `version`, and watches by the next of `watches`; the last one stays."""

    def __init__(self) -> None:
        self.pods: list[tuple[str, str]] = [("a", "3")]
        self.version = "7"
        self.list_error: Exception | None = None
        self.watches: list[Answer] = [quiet()]
        self.asked: list[Mapping[str, str]] = []
        self.lists = 0
        self.times: list[float] = []

    async def request(
        self, method: str, path: str, query: Mapping[str, str] | None = None, *_: Any
    ) -> ApiResponse:
        """Answer a list."""
        assert (method, path) == ("GET", PODS)
        self.times.append(asyncio.get_running_loop().time())
        if self.list_error is not None:
            raise self.list_error
        self.lists += 1
        items = [
            {"metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": at}}
            for name, at in self.pods
        ]
        body = {"metadata": {"resourceVersion": self.version}, "items": items}
        return ApiResponse(200, json.dumps(body).encode(), self.now)

    @property
    def now(self) -> float:
        """The server's clock."""
        return START + asyncio.get_running_loop().time()

    async def watch(
        self, path: str, query: Mapping[str, str], *, silent_seconds: float
    ) -> AsyncGenerator[Piece]:
        """Answer a watch."""
        assert path == PODS
        assert silent_seconds > 0
        self.times.append(asyncio.get_running_loop().time())
        self.asked.append(query)
        answer = self.watches.pop(0) if len(self.watches) > 1 else self.watches[0]
        async for piece in answer(query):
            yield piece if piece is not OPENED else StreamOpened(self.now)

    async def close(self) -> None:
        """Nothing is held."""


OPENED = StreamOpened(0.0)
"""Stands for the server's time when the watch opens."""


def says(*pieces: bytes, then: Exception | None = None, every: float = 1.0) -> Answer:
    """Return a watch that brings pieces, one each `every` seconds, and ends, by an error if there is one."""

    async def answer(_query: Mapping[str, str]) -> AsyncGenerator[Piece]:
        yield OPENED
        for piece in pieces:
            await asyncio.sleep(every)
            yield piece
        await asyncio.sleep(every)
        if then is not None:
            raise then

    return answer


def refuses(error: Exception) -> Answer:
    """Return a watch that does not open."""

    async def answer(_query: Mapping[str, str]) -> AsyncGenerator[Piece]:
        raise error
        yield OPENED

    return answer


def quiet(*pieces: bytes) -> Answer:
    """Return a watch that brings pieces and then nothing, and never ends."""

    async def answer(_query: Mapping[str, str]) -> AsyncGenerator[Piece]:
        yield OPENED
        for piece in pieces:
            yield piece
        await asyncio.sleep(1e9)

    return answer


def bookmarks(every: float) -> Answer:
    """Return a watch that brings bookmarks, for as long as it was asked for."""

    async def answer(query: Mapping[str, str]) -> AsyncGenerator[Piece]:
        yield OPENED
        loop = asyncio.get_running_loop()
        end = loop.time() + float(query["timeoutSeconds"])
        version = int(query["resourceVersion"])
        while loop.time() < end:
            await asyncio.sleep(every)
            version += 1
            said = {
                "type": "BOOKMARK",
                "object": {"metadata": {"resourceVersion": str(version)}},
            }
            yield json.dumps(said).encode() + b"\n"

    return answer


EXPIRED = b'{"type":"ERROR","object":{"code":410,"reason":"Expired","message":"too old"}}\n'
Check = Callable[[ScriptedServer, FollowedList[Pod]], Awaitable[None]]


def follow(server: ScriptedServer, check: Check, errors: ItemErrors | None = None) -> None:
    """Follow the server's pods in virtual time while `check` runs."""

    async def run() -> None:
        clock = LoopClock()
        followed = FollowedList(
            PODS, Pod, server, clock, ClusterTime(clock), Random(1), FollowTimes(), errors
        )
        task = asyncio.create_task(followed.run())
        try:
            await check(server, followed)
            assert not task.done(), "following never ends by itself"
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    run_virtual(run)


def names(followed: FollowedList[Pod]) -> list[str]:
    """Return the names of the pods that are known."""
    return [pod.metadata.name for pod in followed.index.objects()]


def test_one_list_and_then_changes() -> None:
    """Everything is listed once; changes come by the watch, from the list's version on."""
    server = ScriptedServer()
    added, gone = line("ADDED", "b", "8"), line("DELETED", "a", "9")
    server.watches = [quiet(added + b"\n" + gone[:30], gone[30:] + b"\n")]

    async def check(_server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await followed.settled.wait()
        await asyncio.sleep(5.0)
        assert names(followed) == ["b"]
        assert followed.failure is None

    follow(server, check)
    assert server.lists == 1
    assert server.asked[0]["resourceVersion"] == "7"
    assert server.asked[0]["allowWatchBookmarks"] == "true"
    assert 300 <= int(server.asked[0]["timeoutSeconds"]) <= 600


def test_a_watch_that_ends_goes_on_where_it_ended() -> None:
    """The server ends each one after its time; nothing is listed again, even over a day."""
    server = ScriptedServer()
    server.watches = [says(line("ADDED", "b", "8") + b"\n"), bookmarks(60.0)]

    async def check(_server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await asyncio.sleep(86_400.0)
        assert names(followed) == ["a", "b"]
        assert followed.failure is None

    follow(server, check)
    assert server.lists == 1
    assert server.asked[1]["resourceVersion"] == "8"
    versions = [int(query["resourceVersion"]) for query in server.asked[1:]]
    assert versions == sorted(set(versions))
    assert 86_400 / 660 < len(server.asked) < 86_400 / 300


@pytest.mark.parametrize(
    "how", [says(EXPIRED), refuses(ClusterRefused(410, "Expired", "too old resource version"))]
)
def test_what_is_too_old_is_listed_again(how: Answer) -> None:
    """Objects that are known are handed out until the new list is there, and stay the same objects."""
    server = ScriptedServer()
    server.watches = [how, quiet()]

    async def check(server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await followed.settled.wait()
        before = followed.index.objects()[0]
        server.pods, server.version = [("a", "3"), ("z", "40")], "44"
        while server.lists < 2:
            assert followed.failure is None
            assert names(followed) == ["a"]
            await asyncio.sleep(0.1)
        await asyncio.sleep(1.0)
        assert names(followed) == ["a", "z"]
        assert followed.index.objects()[0] is before

    follow(server, check)
    assert server.asked[-1]["resourceVersion"] == "44"


def test_a_broken_connection_is_opened_again_without_a_list() -> None:
    """A reset that a retry mends at once is never seen as a loss by who reads after it."""
    server = ScriptedServer()
    server.watches = [says(then=ClusterUnavailable("reset by peer")), quiet()]

    async def check(_server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await asyncio.sleep(10.0)
        assert followed.failure is None
        assert followed.watches == 2

    follow(server, check)
    assert server.lists == 1


def test_an_outage_is_a_loss_until_the_server_answers() -> None:
    """Attempts come further and further apart, at most 45 s; then it goes on where it ended."""
    server = ScriptedServer()
    down = refuses(ClusterUnavailable("connection refused"))
    server.watches = [says(line("ADDED", "b", "8") + b"\n", then=ClusterUnavailable("reset")), down]

    async def check(server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await asyncio.sleep(600.0)
        assert isinstance(followed.failure, ClusterUnavailable)
        assert followed.heard_seconds == pytest.approx(START + 1.0, abs=0.1)
        server.watches = [quiet()]
        await asyncio.sleep(46.0)
        assert followed.failure is None
        assert names(followed) == ["a", "b"]

    follow(server, check)
    assert server.lists == 1
    assert server.asked[-1]["resourceVersion"] == "8"
    gaps = [
        later - earlier for earlier, later in zip(server.times[2:], server.times[3:], strict=False)
    ]
    assert gaps[0] < 2.5
    assert max(gaps) <= 45.0
    assert len(gaps) < 30


def test_a_silent_connection_is_given_up() -> None:
    """Without a byte for 90 s it is opened anew, which is no loss while the server answers."""
    server = ScriptedServer()
    server.watches = [quiet(), quiet(line("ADDED", "b", "8") + b"\n")]

    async def check(_server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await asyncio.sleep(89.0)
        assert followed.watches == 1
        await asyncio.sleep(3.0)
        assert followed.watches == 2
        assert followed.failure is None
        assert names(followed) == ["a", "b"]

    follow(server, check)
    assert server.lists == 1


def test_the_age_is_that_of_the_newest_bytes() -> None:
    """A bookmark says that nothing has changed until then."""
    server = ScriptedServer()
    server.watches = [bookmarks(60.0)]

    async def check(_server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await asyncio.sleep(59.0)
        assert followed.heard_seconds == pytest.approx(START, abs=0.1)
        await asyncio.sleep(2.0)
        assert followed.heard_seconds == pytest.approx(START + 60.0, abs=0.1)

    follow(server, check)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_list_that_is_refused_is_asked_for_seldom(status: int) -> None:
    """A right or a kind that is not there does not come within a second."""
    server = ScriptedServer()
    server.list_error = ClusterRefused(status, "Refused", "no")

    async def check(server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await followed.settled.wait()
        await asyncio.sleep(600.0)
        assert isinstance(followed.failure, ClusterRefused)
        server.list_error = None
        await asyncio.sleep(91.0)
        assert followed.failure is None
        assert names(followed) == ["a"]

    follow(server, check)
    assert len(server.times) < 15


def test_without_the_right_to_watch_who_reads_has_to_list() -> None:
    """The list is no loss then; the right is asked for again later."""
    server = ScriptedServer()
    server.watches = [refuses(ClusterRefused(403, "Forbidden", "cannot watch pods")), quiet()]

    async def check(_server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        await followed.settled.wait()
        await asyncio.sleep(1.0)
        assert followed.may_not_watch
        assert followed.failure is None
        await asyncio.sleep(700.0)
        assert not followed.may_not_watch

    follow(server, check)


def test_a_line_that_cannot_be_read_is_a_loss_and_a_new_list() -> None:
    """What it said is not known, so everything is read again."""
    server = ScriptedServer()
    server.watches = [says(b"{nonsense\n"), quiet()]

    async def check(server: ScriptedServer, followed: FollowedList[Pod]) -> None:
        while server.lists < 2:
            await asyncio.sleep(0.5)
        await asyncio.sleep(1.0)
        assert followed.failure is None

    follow(server, check)


def test_a_server_that_ends_each_watch_at_once_is_not_hammered() -> None:
    """At most one attempt in 0.8 s."""
    server = ScriptedServer()
    server.watches = [says(every=0.0)]

    async def check(_server: ScriptedServer, _followed: FollowedList[Pod]) -> None:
        await asyncio.sleep(80.0)

    follow(server, check)
    assert len(server.asked) <= 101


def test_the_time_between_answers_never_falls_back() -> None:
    """A Date header is cut to the second; the clock goes on from the answer before as long as they agree."""

    async def run() -> None:
        clock = LoopClock()
        time = ClusterTime(clock)
        assert time.now() is None
        time.note(100.0)
        await asyncio.sleep(0.9)
        time.note(100.0)
        assert time.now() == pytest.approx(100.9)
        time.note(105.0)
        assert time.now() == 105.0
        time.note(90.0)
        assert time.now() == 90.0

    run_virtual(run)
