"""Kubernetes lists and objects: an answer of any form is read or refused, never a crash."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.cluster import ApiResponse, ClusterRefused, ClusterUnavailable
from services.collector.assemble import SnapshotLimits, assemble
from services.collector.cluster import read_every_list
from services.kube_lists import list_decoder, read_list
from services.kube_objects import KubeStruct, Node, NodeMetrics, Pod, parse_time
from services.kube_workloads import Autoscaler, Deployment, Job
from services.pod_requests import count_gpus, effective_request
from tests.fuzz.mutation import FUZZ, ODD_TEXTS, broken_encodings, dump_json, mutations
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.workloads import open_workload

PATHS: Mapping[type[KubeStruct], str] = {
    Node: "/api/v1/nodes",
    Pod: "/api/v1/pods",
    Deployment: "/apis/apps/v1/deployments",
    Job: "/apis/batch/v1/jobs",
    Autoscaler: "/apis/autoscaling/v2/horizontalpodautoscalers",
    NodeMetrics: "/apis/metrics.k8s.io/v1beta1/nodes",
}


@pytest.fixture(scope="module")
def lists() -> Mapping[type[KubeStruct], Any]:
    """Return one list of each kind, as the twin's API gives it."""
    engine = Engine(None, 1)
    workload = open_workload("openb", nodes=3, seed=1)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.advance(engine.now + 3_600.0)
    twin = InProcessTwin(engine)
    found = {}
    for kind, path in PATHS.items():
        status, body = twin.request("GET", path, {"limit": "3"}, b"")
        assert 200 == status
        found[kind] = json.loads(body)
    return found


class Answering:
    """A transport that gives one answer."""

    def __init__(self, body: bytes) -> None:
        self.body = body

    async def request(self, *_: Any, **__: Any) -> Any:
        """Give the answer once, then nothing."""
        body, self.body = self.body, b'{"items": []}'
        return ApiResponse(200, body, 1.0)


@pytest.mark.parametrize("kind", PATHS, ids=lambda kind: kind.__name__)
@FUZZ
@given(data=st.data())
async def test_a_list_of_any_form(kind: type[KubeStruct], lists: Any, data: st.DataObject) -> None:
    """ClusterRefused is the only error of a list; its objects answer every question asked of them."""
    body = data.draw(broken_encodings(lists[kind]))
    try:
        listed = await read_list(Answering(body), "/x", list_decoder(kind))
    except (ClusterRefused, ClusterUnavailable):
        return
    for item in listed.items:
        assert isinstance(item, kind)
        if isinstance(item, Pod):
            asked = (
                item.key,
                item.finished,
                item.ready,
                item.unhealthy,
                item.restarts,
                item.workload(),
            )
            assert 6 == len(asked)
        if isinstance(item, Node):
            assert item.ready in {True, False}


@FUZZ
@given(st.sampled_from(ODD_TEXTS) | st.text(max_size=30) | st.datetimes().map(str))
def test_a_time_of_any_form(text: str) -> None:
    """ValueError is the only refusal of a time; what is accepted is a finite number of seconds."""
    try:
        seconds = parse_time(text)
    except ValueError:
        return
    assert seconds == seconds
    assert abs(seconds) < 1e12


@FUZZ
@given(st.data())
def test_amounts_of_any_form(data: st.DataObject) -> None:
    """A pod's amounts are numbers, or ValueError where the API would not have stored such a pod."""
    amounts = st.dictionaries(
        st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]),
        st.sampled_from(["1", "100m", "2Gi", *ODD_TEXTS]),
    )
    spec = {
        "containers": [{"resources": {"requests": data.draw(amounts)}}],
        "initContainers": [{"resources": {"requests": data.draw(amounts)}}],
        "overhead": data.draw(amounts),
    }
    pod = msgspec.convert({"spec": spec}, Pod)
    try:
        request = effective_request(pod)
        count_gpus(pod.spec.overhead)
    except ValueError:
        return
    assert request.cpu_cores == request.cpu_cores


class Serving:
    """A transport that answers each path with the bytes it was given."""

    def __init__(self, bodies: Mapping[str, bytes]) -> None:
        self.bodies = bodies

    async def request(self, _method: str, path: str, query: Mapping[str, str]) -> ApiResponse:
        """Give the path's answer; an empty list for a second page."""
        body = b'{"items": []}' if "continue" in query else self.bodies[path]
        return ApiResponse(200, body, 1_767_225_600.0)


@FUZZ
@given(data=st.data())
async def test_a_cluster_of_any_form(lists: Any, data: st.DataObject) -> None:
    """The collector makes a snapshot of whatever the API server says; what it cannot read is named."""
    bodies = {path: json.dumps(lists[kind]).encode() for kind, path in PATHS.items()}
    for kind in data.draw(st.lists(st.sampled_from(list(PATHS)), min_size=1, max_size=2)):
        bodies[PATHS[kind]] = data.draw(mutations(lists[kind]).map(dump_json))
    reading = await read_every_list(Serving(bodies), 0.0)
    cuts = SnapshotLimits(since_seconds=0.0, failed_pod_seconds=600.0, listed_pods=100)
    actual = assemble(reading, 1_767_229_200.0, cuts, simulated=True)

    assert len(PATHS) == len(actual.sources)
    for source in actual.sources:
        assert source.ok or source.message
