"""One suite for the small API server of these tests, the embedded cluster and a real one: what the
executor asks for is answered alike by all three, so that the small one proves something.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from bus.clock import SystemClock
from services.cluster import JSON, MERGE_PATCH, ClusterRefused, Method, Transport
from services.official_client import OfficialClientTransport
from services.twin_transport import TwinTransport
from tests.executor.api_server import ApiServer
from tests.patience import HANGS_SECONDS
from tests.real_api_server import ApiServer as RealApiServer
from tests.real_api_server import api_server  # noqa: F401 - a fixture
from twin.port.api import InProcessTwin
from twin.port.workloads import open_workload

DRY = {"dryRun": "All"}
OTHER_UID = "00000000-0000-4000-8000-000000000000"
NOWHERE = {"nodeSelector": {"contract": "no-node-has-this"}}
CONTAINER = {"name": "c", "image": "registry.k8s.io/pause:3.10"}
_numbers = count(1)


@dataclass(frozen=True)
class Place:
    """A namespace with a Deployment `web` of two replicas and a pod `p1` that waits for a node."""

    transport: Transport
    namespace: str
    node: str

    @property
    def web(self) -> str:
        """The path of the Deployment."""
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments/web"

    @property
    def pods(self) -> str:
        """The path of the pods."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    async def ask(
        self, method: Method, path: str, body: Any = None, form: str = JSON, **query: str
    ) -> dict[str, Any]:
        """Send a request and return what the answer holds."""
        answer = await self.transport.request(method, path, query, body, form)
        content: dict[str, Any] = json.loads(answer.body)
        return content

    async def patch(self, path: str, body: Any, **query: str) -> dict[str, Any]:
        """Send a merge patch and return what the answer holds."""
        return await self.ask("PATCH", path, body, MERGE_PATCH, **query)

    async def metadata(self, path: str) -> dict[str, Any]:
        """Return an object's metadata."""
        found: dict[str, Any] = (await self.ask("GET", path))["metadata"]
        return found

    async def refusal(
        self, method: Method, path: str, body: Any = None, form: str = JSON, **query: str
    ) -> tuple[int, str]:
        """Return status and reason of a request that must be refused."""
        with pytest.raises(ClusterRefused) as raised:
            await self.ask(method, path, body, form, **query)
        return raised.value.status, raised.value.reason


@pytest.fixture(
    scope="session", params=["small", "in process", pytest.param("real", marks=pytest.mark.slow)]
)
def server(request: pytest.FixtureRequest) -> str | RealApiServer:
    """Return each server in turn; a real one runs for the whole session."""
    if request.param == "real":
        real: RealApiServer = request.getfixturevalue("api_server")
        return real
    return str(request.param)


@pytest.fixture
async def place(server: str | RealApiServer) -> AsyncIterator[Place]:
    """Return a namespace on each server in turn."""
    namespace = f"executor-{os.getpid()}-{next(_numbers)}"
    node = f"{namespace}-node"
    if server == "small":
        yield _small(namespace, node)
        return
    made = Place(_transport(server), namespace, node)
    await _fill(made)
    yield made
    await made.transport.request("DELETE", f"/api/v1/nodes/{node}", {}, {})
    await made.transport.close()


def _transport(server: str | RealApiServer) -> Transport:
    if isinstance(server, RealApiServer):
        return OfficialClientTransport(server.kubeconfig, timeout_seconds=HANGS_SECONDS)
    workload = open_workload("idle", nodes=1, seed=1)
    return TwinTransport(InProcessTwin.of(workload, seed=1, speed=1.0, clock=SystemClock()))


def _small(namespace: str, node: str) -> Place:
    server = ApiServer()
    made = Place(server, namespace, node)
    server.add(f"/api/v1/nodes/{node}", uid="n", spec={})
    server.add(made.web, uid="w", spec={"replicas": 2})
    server.add(f"{made.pods}/p1", uid="p", spec=NOWHERE, status={"phase": "Pending"})
    return made


async def _fill(place: Place) -> None:
    await place.ask("POST", "/api/v1/namespaces", {"metadata": {"name": place.namespace}})
    await place.ask("POST", "/api/v1/nodes", {"metadata": {"name": place.node}, "spec": {}})
    spec = {"containers": [CONTAINER], **NOWHERE}
    await place.ask("POST", place.pods, {"metadata": {"name": "p1"}, "spec": spec})
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    deployment = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
    }
    await place.ask("POST", place.web.removesuffix("/web"), deployment)


def eviction(place: Place, uid: str, name: str = "p1") -> dict[str, Any]:
    """Return the body of an eviction, as the executor sends it."""
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": place.namespace},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }


async def test_an_object_says_who_it_is(place: Place) -> None:
    """Name, namespace, uid and version are what preconditions are made of."""
    found = await place.metadata(place.web)

    assert (found["name"], found["namespace"]) == ("web", place.namespace)
    assert found["uid"]
    assert found["resourceVersion"]


async def test_what_is_not_there_is_not_found(place: Place) -> None:
    """404 for reading, patching, evicting and deleting alike."""
    gone = f"{place.pods}/nobody"
    preconditions = {"preconditions": {"uid": OTHER_UID}}

    assert await place.refusal("GET", gone) == (404, "NotFound")
    assert await place.refusal("PATCH", gone, {"spec": {}}, MERGE_PATCH) == (404, "NotFound")
    wanted = eviction(place, OTHER_UID, "nobody")
    assert await place.refusal("POST", f"{gone}/eviction", wanted) == (404, "NotFound")
    assert await place.refusal("DELETE", gone, preconditions) == (404, "NotFound")


async def test_lists_are_of_one_kind_and_honour_field_selectors(place: Place) -> None:
    """The three selectors that the executor uses; a list has a version of its own."""
    by_name = await place.ask("GET", "/api/v1/nodes", fieldSelector=f"metadata.name={place.node}")
    bound = await place.ask("GET", place.pods, fieldSelector=f"spec.nodeName={place.node}")
    pending = await place.ask("GET", place.pods, fieldSelector="status.phase=Pending")
    everywhere = await place.ask("GET", "/api/v1/pods", fieldSelector="status.phase=Pending")

    assert [one["metadata"]["name"] for one in by_name["items"]] == [place.node]
    assert bound["items"] == []
    assert "p1" in {one["metadata"]["name"] for one in pending["items"]}
    assert (place.namespace, "p1") in {
        (one["metadata"]["namespace"], one["metadata"]["name"]) for one in everywhere["items"]
    }
    assert pending["metadata"]["resourceVersion"]


@pytest.mark.parametrize("what", ["web", "node"])
async def test_a_merge_patch_sets_and_removes(place: Place, what: str) -> None:
    """null removes; each change makes a new version, and a patch that changes nothing makes none."""
    path = place.web if what == "web" else f"/api/v1/nodes/{place.node}"
    body = {"metadata": {"annotations": {"contract/cap": "1"}}}

    first = await place.patch(path, body)
    again = await place.patch(path, body)
    back = await place.patch(path, {"metadata": {"annotations": {"contract/cap": None}}})

    assert first["metadata"]["annotations"]["contract/cap"] == "1"
    assert "contract/cap" not in back["metadata"].get("annotations", {})
    if what == "node":  # a Deployment's own controller may have written meanwhile
        assert again["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert back["metadata"]["resourceVersion"] != first["metadata"]["resourceVersion"]


async def test_a_patch_can_be_tied_to_what_was_read(place: Place) -> None:
    """Another uid is 422, an older version 409, and nothing changes; the right ones pass."""
    path = f"/api/v1/nodes/{place.node}"
    read = await place.metadata(path)
    tied = {"uid": read["uid"], "resourceVersion": read["resourceVersion"]}
    change = {"annotations": {"contract/cap": "1"}}

    wrong = {"metadata": {**change, **tied, "uid": OTHER_UID}}
    assert await place.refusal("PATCH", path, wrong, MERGE_PATCH) == (422, "Invalid")
    assert (await place.metadata(path))["resourceVersion"] == read["resourceVersion"]
    written = await place.patch(path, {"metadata": {**change, **tied}})
    assert written["metadata"]["uid"] == read["uid"]
    stale = {"metadata": {"annotations": {"contract/cap": "2"}, **tied, "uid": OTHER_UID}}
    assert await place.refusal("PATCH", path, stale, MERGE_PATCH) == (409, "Conflict")
    stale["metadata"]["uid"] = read["uid"]
    assert await place.refusal("PATCH", path, stale, MERGE_PATCH) == (409, "Conflict")
    assert (await place.metadata(path))["annotations"]["contract/cap"] == "1"


async def test_a_dry_run_answers_and_stores_nothing(place: Place) -> None:
    """Every verb of the executor, with dryRun=All."""
    node, pod = f"/api/v1/nodes/{place.node}", f"{place.pods}/p1"
    before, uid = await place.metadata(node), (await place.metadata(pod))["uid"]

    patched = await place.patch(node, {"metadata": {"annotations": {"contract/dry": "1"}}}, **DRY)
    scaled = await place.patch(f"{place.web}/scale", {"spec": {"replicas": 5}}, **DRY)
    await place.ask("POST", f"{pod}/eviction", eviction(place, uid), **DRY)
    await place.ask("DELETE", pod, {"preconditions": {"uid": uid}, "dryRun": ["All"]}, **DRY)

    assert patched["metadata"]["annotations"]["contract/dry"] == "1"
    assert patched["metadata"]["resourceVersion"] == before["resourceVersion"]
    assert scaled["spec"]["replicas"] == 5
    assert await place.metadata(node) == before
    assert (await place.ask("GET", place.web))["spec"]["replicas"] == 2
    assert (await place.metadata(pod))["uid"] == uid


async def test_a_deployment_is_scaled_at_its_subresource(place: Place) -> None:
    """The object shows the new number; an older version of it is 409."""
    scale = f"{place.web}/scale"

    await place.patch(scale, {"spec": {"replicas": 3}})
    assert (await place.ask("GET", place.web))["spec"]["replicas"] == 3

    stale = {"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 4}}
    assert await place.refusal("PATCH", scale, stale, MERGE_PATCH) == (409, "Conflict")
    assert (await place.ask("GET", place.web))["spec"]["replicas"] == 3


@pytest.mark.parametrize("verb", ["evict", "delete"])
async def test_a_pod_goes_only_under_its_own_uid(place: Place, verb: str) -> None:
    """Another uid is 409 and the pod stays; with its own it goes."""
    pod = f"{place.pods}/p1"
    uid = (await place.metadata(pod))["uid"]

    def request(uid: str) -> tuple[Method, str, dict[str, Any]]:
        if verb == "evict":
            return "POST", f"{pod}/eviction", eviction(place, uid)
        return "DELETE", pod, {"preconditions": {"uid": uid}}

    assert await place.refusal(*request(OTHER_UID)) == (409, "Conflict")
    assert (await place.metadata(pod))["uid"] == uid
    await place.ask(*request(uid))
    assert await place.refusal("GET", pod) == (404, "NotFound")


async def test_a_deletion_with_options_is_not_dry_by_its_query(place: Place) -> None:
    """Whoever sends options has to say dryRun in them: the query is not read then."""
    pod = f"{place.pods}/p1"
    uid = (await place.metadata(pod))["uid"]

    await place.ask("DELETE", pod, {"preconditions": {"uid": uid}}, **DRY)

    assert await place.refusal("GET", pod) == (404, "NotFound")
