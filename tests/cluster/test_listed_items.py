"""Lists item by item: the same objects as from whole pages, and what has not changed is not decoded again."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from services.cluster import JSON, ApiResponse, ClusterUnavailable, Json, Method
from services.collector.cluster import read_every_list
from services.kept_results import kept
from services.kube_lists import ListDecoder, read_list
from services.kube_objects import KubeStruct, Pod
from services.kube_workloads import Job
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.files import Scenario
from twin.port.workloads import open_workload


class WholePages:
    """A transport that gives whole pages alone, as one over HTTP does."""

    def __init__(self, twin: InProcessTwin) -> None:
        self._inner = TwinTransport(twin)

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Pass it on."""
        return await self._inner.request(method, path, query, body, content_type)

    async def close(self) -> None:
        """Nothing is held."""


def busy_cluster() -> Engine:
    """Return a cluster in which pods come and go, of more pods than a page has."""
    engine = Engine(None, 3)
    workload = open_workload("google2011", nodes=70, seed=3)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.advance(engine.now + 20.0)
    return engine


async def test_items_and_whole_pages_give_the_same_objects() -> None:
    """All lists of the collector are equal in both ways, look after look, page after page."""
    engine = busy_cluster()
    twin = InProcessTwin(engine)
    known: dict[str, Pod] = {}
    for _ in range(3):
        pieces = await read_every_list(TwinTransport(twin), 0.0)
        assert pieces == await read_every_list(WholePages(twin), 0.0)
        same = [pod for pod in pieces.pods.items if known.get(pod.metadata.uid) is pod]
        known = {pod.metadata.uid: pod for pod in pieces.pods.items}
        engine.advance(engine.now + 30.0)
    assert len(known) > 500
    assert 0 < len(same) < len(known)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/v1/namespaces/default/pods", {}),
        ("/api/v1/pods", {"labelSelector": "a=b"}),
        ("/api/v1/pods", {"watch": "1"}),
        ("/api/v1/pods/x", {}),
        ("/apis/metrics.k8s.io/v1beta1/nodes", {}),
        ("/apis/autoscaling/v1/horizontalpodautoscalers", {}),
        ("/apis/events.k8s.io/v1/events", {}),
        ("/version", {}),
    ],
)
async def test_other_requests_are_not_answered_by_items(path: str, query: dict[str, str]) -> None:
    """Whatever is not a whole list of a kept version is left to the one who answers everything."""
    assert await TwinTransport(InProcessTwin(Engine(None, 3))).list_items(path, query) is None


async def test_a_refusal_of_the_api_is_one_of_a_list_too() -> None:
    """A scenario's API errors meet lists in pieces as they meet pages, at the same request."""
    fault = {
        "fault": "api_errors",
        "status": 503,
        "ratio": 0.5,
        "at_seconds": 0,
        "duration_seconds": 60,
    }
    answers = []
    for kind in (TwinTransport, WholePages):
        engine = Engine(None, 3)
        engine.faults.play(Scenario.model_validate({"faults": (fault,)}))
        engine.advance(engine.now + 1.0)
        transport, refused = kind(InProcessTwin(engine)), []
        for _ in range(20):
            try:
                await read_list(transport, "/api/v1/pods", ListDecoder(Pod))
            except ClusterUnavailable as error:
                refused.append(str(error))
            else:
                refused.append("")
        answers.append(refused)
    assert answers[0] == answers[1]
    assert len(set(answers[0])) == 2


def test_items_of_the_two_newest_lists_are_known() -> None:
    """Two worlds read in turn find theirs again; what neither shows any more is forgotten in time."""
    decoder = ListDecoder(Job)

    def read(*names: str) -> dict[str, Job]:
        items = [b'{"metadata":{"name":"%b"}}' % name.encode() for name in names]
        jobs = decoder.items(items)
        decoder.remember(items, jobs)
        return dict(zip(names, jobs, strict=True))

    ours, theirs = read("a", "b"), read("a", "c")
    assert theirs["a"] is ours["a"]
    assert read("b")["b"] is ours["b"]
    assert read("c")["c"] is theirs["c"]
    for number in range(4):
        newest = read(f"d{number}")
    assert read("a")["a"] is not ours["a"]
    assert read("d3")["d3"] is newest["d3"]


def test_what_is_computed_of_an_object_is_computed_once() -> None:
    """It is kept with the object, by function; another object has its own, and equality does not see it."""
    asked = []

    @kept
    def name_of(pod: Pod) -> str:
        asked.append(pod)
        return pod.metadata.name

    @kept
    def phase_of(pod: Pod) -> str:
        return pod.status.phase

    pod, other = Pod(), Pod()
    assert (name_of(pod), name_of(pod), phase_of(pod)) == ("", "", "Unknown")
    assert name_of(other) == ""
    assert len(asked) == 2
    assert pod == Pod()
    assert isinstance(pod, KubeStruct)
