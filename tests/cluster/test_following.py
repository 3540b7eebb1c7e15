"""Lists that are followed say what lists that are read say, on every server that can be watched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.virtual_loop import run_virtual
from schemas.reasons import Reason
from services.cluster import (
    JSON,
    MERGE_PATCH,
    ApiResponse,
    ClusterRefused,
    ClusterUnavailable,
    Transport,
)
from services.collector.cluster import (
    DEPLOYMENTS,
    NODE_METRICS,
    NODES,
    PODS,
    WATCHED,
    ApiList,
    read_every_source,
    read_one_list,
)
from services.collector.following import FollowedSources
from services.collector.settings import CollectorSettings
from services.executor.reading.followed_lists import FollowedLists
from services.exerciser.cluster import NAMESPACE, create_load, deployments_path, remove_all
from services.exerciser.plan import PlannedLoad
from services.kube_follow import WatchTransport
from services.kube_lists import list_decoder, read_list
from services.kube_workloads import Deployment
from tests.cluster.test_kube_follow import LoopClock, ScriptedServer, refuses, says
from tests.patience import HANGS_SECONDS

LOADS = [PlannedLoad(f"exercise-{number}", 0, 100, 2**26) for number in range(5)]
IMAGE = "rancher/mirrored-pause:3.10"
PATH = deployments_path(NAMESPACE)


@pytest.fixture
async def watched(transport: Transport) -> WatchTransport:
    """Return a transport that can watch."""
    if not isinstance(transport, WatchTransport):
        pytest.skip("the cluster in process is not watched: its lists cost what has changed anyway")
    return transport


@pytest.fixture
async def followed(watched: WatchTransport) -> AsyncIterator[FollowedSources]:
    """Follow everything that a collector follows."""
    sources = FollowedSources(WATCHED, watched, SystemClock(), CollectorSettings(), Random(1))
    async with sources.running():
        await sources.settle(HANGS_SECONDS)
        yield sources
    await remove_all(watched)


@pytest.fixture
def asked(
    followed: FollowedSources, watched: WatchTransport, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Return the paths of what is asked of the server from now on, watches aside."""
    del followed  # what it asks at its start is not counted
    paths: list[str] = []
    send = watched.request

    async def counted(method: Any, path: str, *rest: Any, **named: Any) -> Any:
        paths.append(path)
        return await send(method, path, *rest, **named)

    monkeypatch.setattr(watched, "request", counted)
    return paths


async def agree(followed: FollowedSources, transport: Transport, source: ApiList[Any]) -> None:
    """Wait until a followed list is equal to one that is read now."""
    for _ in range(round(HANGS_SECONDS / 0.2)):
        listed = await read_one_list(transport, source, 0.0)
        known = await followed.read(source, 0.0)
        if known.items == listed.items:
            return
        await asyncio.sleep(0.2)
    assert known.items == listed.items


async def test_every_list_is_the_one_that_is_read(
    followed: FollowedSources, watched: WatchTransport
) -> None:
    """After objects were made, changed and deleted; nothing was listed a second time for it."""
    await create_load(watched, LOADS, IMAGE, {})
    await watched.request(
        "PATCH", f"{PATH}/exercise-1", None, {"spec": {"paused": True}}, MERGE_PATCH
    )
    await watched.request("DELETE", f"{PATH}/exercise-2", None, {}, JSON)
    for source in WATCHED:
        await agree(followed, watched, source)
    known = await followed.read(DEPLOYMENTS, 0.0)
    ours = {one.metadata.name: one for one in known.items if one.metadata.namespace == NAMESPACE}
    assert sorted(ours) == ["exercise-0", "exercise-1", "exercise-3", "exercise-4"]
    assert ours["exercise-1"].spec.paused
    assert {name: each.lists for name, each in followed.lists.items()} == {
        source.name: 1 for source in WATCHED
    }


async def test_reads_are_marked_as_watched(followed: FollowedSources) -> None:
    """With the version that the watch has come to, and when the server was last heard."""
    read = (await followed.read(NODES, 0.0)).source
    now = followed.cluster_time_seconds
    assert read.ok
    assert read.watched
    assert read.resource_version
    assert now is not None
    assert 0.0 <= now - read.read_time_seconds < HANGS_SECONDS


async def test_metrics_are_listed_at_most_every_15_seconds(
    followed: FollowedSources, asked: list[str]
) -> None:
    """They cannot be watched; between two samples the list would be the same."""
    first = await followed.read(NODE_METRICS, 0.0)
    for _ in range(3):
        assert (await followed.read(NODE_METRICS, 0.0)).items == first.items
    assert asked == [NODE_METRICS.path]  # also of a server that has none


async def test_a_cycle_asks_for_metrics_alone(
    followed: FollowedSources, watched: WatchTransport, asked: list[str]
) -> None:
    """Everything else is known."""
    reading = await read_every_source(watched, 0.0, lists_from=followed)
    assert asked == [NODE_METRICS.path]
    assert reading.budgets is not None
    assert reading.stateful_sets is not None
    assert all(source.watched for source in reading.sources if source.source != NODE_METRICS.name)


async def test_what_was_written_is_in_the_very_next_list(watched: WatchTransport) -> None:
    """However late its watch brings it: twenty scales in a row, each seen by the plan after it."""
    decoder = list_decoder(Deployment)
    lists = FollowedLists(watched, SystemClock(), Random(1))
    await create_load(watched, LOADS[:1], IMAGE, {})
    seen = []
    async with lists.running():
        for replicas in range(1, 21):
            scale = {"spec": {"replicas": replicas}}
            await lists.request("PATCH", f"{PATH}/exercise-0/scale", None, scale, MERGE_PATCH)
            listed = await read_list(lists, DEPLOYMENTS.path, decoder)
            seen += [one.spec.replicas for one in listed.items if one.metadata.name == "exercise-0"]
        async with asyncio.timeout(HANGS_SECONDS):
            while lists.known_list(DEPLOYMENTS.path) is None:
                await asyncio.sleep(0.1)
    await remove_all(watched)
    assert seen == list(range(1, 21))


def test_a_server_that_hangs_is_noticed_although_its_watches_stay_open() -> None:
    """Metrics do not come, nor does the version; what the server speaks of again is known again."""
    server = ScriptedServer()
    metrics: list[Exception | None] = [None, ClusterUnavailable("timed out")]
    version: list[Exception | None] = [ClusterUnavailable("timed out")]

    async def request(
        method: Any, path: str, query: Mapping[str, str] | None = None, *_: Any
    ) -> ApiResponse:
        if path == PODS.path:
            return await listed(method, path, query)
        error = (version if path == "/version" else metrics)[0]
        if error is not None:
            raise error
        return ApiResponse(200, b'{"items":[]}', server.now)

    listed, server.request = server.request, request  # type: ignore[method-assign]

    async def run() -> None:
        sources = FollowedSources([PODS], server, LoopClock(), CollectorSettings(), Random(1))
        async with sources.running():
            await sources.settle(1.0)
            assert (await sources.read(NODE_METRICS, 0.0)).source.ok
            assert (await sources.read(PODS, 0.0)).source.ok
            metrics.pop(0)
            await asyncio.sleep(16.0)
            assert not (await sources.read(NODE_METRICS, 0.0)).source.ok
            lost = (await sources.read(PODS, 0.0)).source
            assert (lost.ok, lost.reason) == (False, Reason.API_UNREACHABLE)
            version[0] = None  # only what serves the metrics is away
            await asyncio.sleep(16.0)
            assert not (await sources.read(NODE_METRICS, 0.0)).source.ok
            assert (await sources.read(PODS, 0.0)).source.ok

    run_virtual(run)


def test_metrics_of_before_an_outage_are_not_handed_out_in_it() -> None:
    """Once nobody answers for a list they are asked for again, and missing with it."""
    server = ScriptedServer()
    down = ClusterUnavailable("connection refused")
    server.watches = [says(then=down), refuses(down)]
    error: list[Exception] = []
    listed = server.request

    async def request(
        method: Any, path: str, query: Mapping[str, str] | None = None, *_: Any
    ) -> ApiResponse:
        if error:
            raise error[0]
        if path == PODS.path:
            return await listed(method, path, query)
        return ApiResponse(200, b'{"items":[]}', server.now)

    server.request = request  # type: ignore[method-assign]

    async def run() -> None:
        sources = FollowedSources([PODS], server, LoopClock(), CollectorSettings(), Random(1))
        async with sources.running():
            await sources.settle(1.0)
            assert (await sources.read(NODE_METRICS, 0.0)).source.ok
            error.append(down)
            await asyncio.sleep(5.0)
            assert not (await sources.read(PODS, 0.0)).source.ok
            assert not (await sources.read(NODE_METRICS, 0.0)).source.ok

    run_virtual(run)


async def test_a_watch_that_is_refused_says_so(watched: WatchTransport) -> None:
    """By the server's own words, before anything is yielded."""
    pieces = watched.watch("/api/v1/nowhere", {"watch": "true"}, silent_seconds=5.0)
    with pytest.raises(ClusterRefused) as raised:
        await anext(pieces)
    assert raised.value.status == 404


async def test_who_stops_reading_a_watch_does_not_wait(watched: WatchTransport) -> None:
    """Its connection is closed, even while its thread waits for the next byte."""
    pieces = watched.watch(
        DEPLOYMENTS.path, {"watch": "true", "timeoutSeconds": "300"}, silent_seconds=300.0
    )
    await anext(pieces)
    async with asyncio.timeout(HANGS_SECONDS):
        await pieces.aclose()
