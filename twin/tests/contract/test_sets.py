"""What sets do about pods whose labels change, and what else controllers do that clients rely on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inputs.clock import SystemClock
from tests.patience import HANGS_SECONDS
from tests.real_api_server import real_cluster_in
from twin.inprocess import InProcessTwin
from twin.tests.contract.faces import MERGE, Face, InProcess, OverHttp, Place, pod
from twin.workloads import open_workload

CONTROLLERS = (
    "replicaset-controller,replicationcontroller-controller,garbage-collector-controller,job-controller,"
    "node-lifecycle-controller"
)


@pytest.fixture(scope="module", params=["in process", pytest.param("real", marks=pytest.mark.slow)])
def controlled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Face]:
    """Return a cluster where controllers are at work: the embedded one, 30 times as fast, and a real one."""
    if request.param == "in process":
        workload = open_workload("idle", nodes=2, seed=1)
        yield InProcess(InProcessTwin.of(workload, seed=1, speed=30.0, clock=SystemClock()))
        return
    with real_cluster_in(tmp_path_factory.mktemp("controlled"), CONTROLLERS) as server:
        face = OverHttp(server.kubeconfig, "real", simulated=False)
        yield face
        face.close()


@pytest.fixture
def home(controlled: Face, request: pytest.FixtureRequest) -> Place:
    """Return a new namespace."""
    name = f"sets-{abs(hash(request.node.name)) % 10**8}"
    body = {"metadata": {"name": name}}
    assert controlled.ask("POST", "/api/v1/namespaces", body=body).status == 201
    return Place(controlled, name)


def _until(what: Callable[[], bool], shown: Callable[[], Any]) -> None:
    end = time.monotonic() + HANGS_SECONDS
    while not what():
        assert time.monotonic() < end, shown()
        time.sleep(0.1)


def _set(home: Place, kind: str, name: str) -> None:
    template = {"metadata": {"labels": {"app": name}}, "spec": pod(name)["spec"]}
    plain = kind == "replicationcontrollers"
    selector: Any = {"app": name} if plain else {"matchLabels": {"app": name}}
    spec = {"replicas": 2, "selector": selector, "template": template}
    home.make(kind, {"metadata": {"name": name}, "spec": spec})


def _owners(home: Place) -> dict[str, str]:
    """Return the pods that are not going, with their controllers' names."""
    items = home.ask("GET", "pods").body["items"]
    return {
        one["metadata"]["name"]: next(
            (owner["name"] for owner in one["metadata"].get("ownerReferences", ())), ""
        )
        for one in items
        if "deletionTimestamp" not in one["metadata"]
    }


def _relabel(home: Place, name: str, value: str) -> None:
    body = {"metadata": {"labels": {"app": value}}}
    assert home.ask("PATCH", "pods", name, body=body, content_type=MERGE).status == 200


@pytest.mark.parametrize("kind", ["replicasets", "replicationcontrollers"])
def test_a_relabelled_pod_is_released_and_replaced(home: Place, kind: str) -> None:
    """A pod that a set's selector fits no more loses its owner and stays; another one takes its place."""
    _set(home, kind, "web")
    _until(lambda: len(_owners(home)) == 2, lambda: _owners(home))
    first = min(_owners(home))
    _relabel(home, first, "debug")
    _until(lambda: _owners(home).get(first) == "", lambda: _owners(home))
    _until(lambda: sorted(_owners(home).values()) == ["", "web", "web"], lambda: _owners(home))


@pytest.mark.parametrize("kind", ["replicasets", "replicationcontrollers"])
def test_a_pod_that_fits_is_adopted(home: Place, kind: str) -> None:
    """A pod without an owner that a set's selector fits gets this owner, before and after the set is made."""
    home.make("pods", pod("early", {"app": "web"}))
    _set(home, kind, "web")
    _until(lambda: list(_owners(home).values()) == ["web", "web"], lambda: _owners(home))
    assert "early" in _owners(home)
    home.make("pods", pod("late", {"app": "other"}))
    home.ask("DELETE", "pods", "early", query={"gracePeriodSeconds": "0"})
    _relabel(home, "late", "web")
    _until(lambda: _owners(home).get("late", "gone") in ("web", "gone"), lambda: _owners(home))
    _until(lambda: list(_owners(home).values()) == ["web", "web"], lambda: _owners(home))


def test_pods_that_are_orphaned_are_taken_over(home: Place) -> None:
    """A set that is deleted without its pods leaves them to the next one with its selector."""
    _set(home, "replicasets", "web")
    _until(lambda: len(_owners(home)) == 2, lambda: _owners(home))
    names = sorted(_owners(home))
    home.ask("DELETE", "replicasets", "web", query={"propagationPolicy": "Orphan"})
    _until(lambda: list(_owners(home).values()) == ["", ""], lambda: _owners(home))
    _until(
        lambda: home.ask("GET", "replicasets", "web").status == 404,
        lambda: home.ask("GET", "replicasets", "web").text,
    )
    _set(home, "replicasets", "web")
    _until(lambda: list(_owners(home).values()) == ["web", "web"], lambda: _owners(home))
    assert sorted(_owners(home)) == names


def test_a_controller_tells_how_many_it_has(home: Place) -> None:
    """The status of a ReplicationController and its scale say what there is."""
    _set(home, "replicationcontrollers", "rc")
    path = home.path("replicationcontrollers", "rc")
    face = home.face
    _until(lambda: face.ask("GET", path).body["status"]["replicas"] == 2, lambda: None)
    scale = face.ask("GET", f"{path}/scale").body
    assert (scale["spec"]["replicas"], scale["status"]["selector"]) == (2, "app=rc")
    body = {"spec": {"replicas": 1}}
    assert face.ask("PATCH", f"{path}/scale", body=body, content_type=MERGE).status == 200
    _until(lambda: len(_owners(home)) == 1, lambda: _owners(home))


def test_a_cordon_is_a_taint_too(controlled: Face) -> None:
    """A node that is cordoned gets the taint that says so, and loses it with the cordon."""
    path = "/api/v1/nodes/cordoned"
    face = controlled
    assert face.ask("POST", "/api/v1/nodes", body={"metadata": {"name": "cordoned"}}).status == 201

    def taints() -> list[str]:
        spec = face.ask("GET", path).body["spec"]
        return [one["key"] for one in spec.get("taints", ())]

    key = "node.kubernetes.io/unschedulable"
    for value, expected in ((True, True), (None, False)):
        body = {"spec": {"unschedulable": value}}
        assert face.ask("PATCH", path, body=body, content_type=MERGE).status == 200
        _until(lambda wanted=expected: (key in taints()) is wanted, taints)  # type: ignore[misc]
    assert face.ask("DELETE", path).status == 200


def test_jobs_know_their_pods_by_their_own_id(home: Place) -> None:
    """The selector of a Job is made of its uid, which its pods have as a label."""
    spec = {"template": {"spec": {**pod("j")["spec"], "restartPolicy": "Never"}}}
    made = home.make("jobs", {"metadata": {"name": "j"}, "spec": spec})
    uid = made["metadata"]["uid"]
    key = "batch.kubernetes.io/controller-uid"
    assert made["spec"]["selector"] == {"matchLabels": {key: uid}}
    query = {"labelSelector": f"{key}={uid},job-name=j"}
    _until(lambda: len(home.names("pods", **query)) == 1, lambda: home.names("pods"))


def test_pods_of_another_scheduler_are_left_alone(controlled: Face) -> None:
    """A pod that names another scheduler waits for that one, without a word."""
    if not controlled.simulated:
        pytest.skip("no scheduler runs beside this API server")
    home = Place(controlled, "default")
    home.make("pods", pod("theirs", schedulerName="other"))
    home.make("pods", pod("ours"))
    _until(
        lambda: "nodeName" in home.ask("GET", "pods", "ours").body["spec"],
        lambda: home.ask("GET", "pods", "ours").text,
    )
    left = home.ask("GET", "pods", "theirs").body
    assert "nodeName" not in left["spec"]
    assert left["status"]["phase"] == "Pending"
    assert left["status"].get("conditions") is None
