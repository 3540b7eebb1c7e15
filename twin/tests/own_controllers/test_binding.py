"""Without its scheduler the twin leaves pods alone until somebody binds them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from inputs.errors import ConfigError
from twin.__main__ import build_engine
from twin.api.messages import Request
from twin.api.router import Router
from twin.config import START_2026
from twin.config.parts import CONTROLLERS, resources_without
from twin.engine import Engine
from twin.settings import TwinSettings, parts_left_out

JSON = {"content-type": "application/json"}


def cluster(without: str) -> Engine:
    """Return a cluster of two nodes with parts left out."""
    settings = TwinSettings(
        nodes=2, workload="idle", without=without, start_time_seconds=START_2026
    )
    return build_engine(settings)


def call(engine: Engine, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    """Send one request as the administrator; return status and content."""
    data = b"" if body is None else json.dumps(body).encode()
    answer = Router(engine).handle(Request(method, f"/api/v1{path}", {}, JSON, data))
    return answer.status, json.loads(answer.body)  # type: ignore[union-attr]


def make_pod(engine: Engine, **spec: Any) -> None:
    """Create a pod `a`."""
    body = {
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": "i"}], **spec},
    }
    assert call(engine, "POST", "/namespaces/default/pods", body)[0] == 201


def bind(engine: Engine, node: str = "node-0001", uid: str = "") -> Any:
    """Bind the pod `a`."""
    body = {"metadata": {"name": "a", "uid": uid}, "target": {"kind": "Node", "name": node}}
    return call(engine, "POST", "/namespaces/default/pods/a/binding", body)


def pod_of(engine: Engine) -> Any:
    """Return the pod `a` as it is now."""
    return call(engine, "GET", "/namespaces/default/pods/a")[1]


def test_a_pod_waits_until_it_is_bound_and_then_runs() -> None:
    """Nothing happens to it in an hour; then it runs where the binding says."""
    engine = cluster("scheduler")
    make_pod(engine)
    engine.advance(engine.now + 3_600)
    assert "nodeName" not in pod_of(engine)["spec"]
    status, content = bind(engine)
    assert (status, content["status"]) == (201, "Success")
    engine.advance(engine.now + 60)
    pod = pod_of(engine)
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("node-0001", "Running")


def test_the_word_of_another_scheduler_is_kept() -> None:
    """Why it found no node, and where it makes room."""
    engine = cluster("scheduler")
    make_pod(engine)
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no",
    }
    patch = {"status": {"conditions": [condition], "nominatedNodeName": "node-0000"}}
    request = Request(
        "PATCH",
        "/api/v1/namespaces/default/pods/a/status",
        {},
        {"content-type": "application/strategic-merge-patch+json"},
        json.dumps(patch).encode(),
    )
    assert Router(engine).handle(request).status == 200  # type: ignore[union-attr]
    status = pod_of(engine)["status"]
    assert status["nominatedNodeName"] == "node-0000"
    (scheduled,) = [each for each in status["conditions"] if each["type"] == "PodScheduled"]
    assert (scheduled["status"], scheduled["message"]) == ("False", "no")


@pytest.mark.parametrize(
    ("case", "status", "sentence"),
    [
        ("again", 409, 'pod a is already assigned to node "node-0001"'),
        ("other uid", 409, "Precondition failed: UID in precondition: x"),
        ("gated", 409, "pod a has non-empty .spec.schedulingGates"),
    ],
)
def test_what_cannot_be_bound_is_refused(case: str, status: int, sentence: str) -> None:
    """In the words of the API server."""
    engine = cluster("scheduler")
    make_pod(engine, **({"schedulingGates": [{"name": "g"}]} if case == "gated" else {}))
    if case == "again":
        assert bind(engine)[0] == 201
    found, content = bind(engine, uid="x" if case == "other uid" else "")
    assert found == status
    assert sentence in content["message"]


def test_a_node_that_is_not_there_can_be_bound_to() -> None:
    """As on a real server: its pod waits for it, and is collected when it does not come."""
    engine = cluster("scheduler")
    make_pod(engine)
    assert bind(engine, "nowhere")[0] == 201
    assert pod_of(engine)["spec"]["nodeName"] == "nowhere"
    assert bind(engine, "nowhere")[0] == 409
    engine.advance(engine.now + 30)
    assert pod_of(engine)["status"]["phase"] == "Pending"
    engine.advance(engine.now + 60)
    assert call(engine, "GET", "/namespaces/default/pods/a")[0] == 404


def test_a_pod_bound_before_its_node_runs_when_the_node_comes() -> None:
    """In time, as when machines are registered late."""
    engine = cluster("scheduler")
    make_pod(engine)
    bind(engine, "late")
    engine.advance(engine.now + 10)
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
    engine.store.create("nodes", "", {"metadata": {"name": "late"}, "status": status})
    engine.advance(engine.now + 60)
    assert pod_of(engine)["status"]["phase"] == "Running"


def test_a_left_out_controller_leaves_its_objects_alone() -> None:
    """A Deployment without its controller has no ReplicaSet; with it, it has one."""
    made = []
    for without in ("deployment", ""):
        engine = cluster(without)
        labels = {"app": "a"}
        template = {
            "metadata": {"labels": labels},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        spec = {"selector": {"matchLabels": labels}, "template": template}
        body = json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode()
        path = "/apis/apps/v1/namespaces/default/deployments"
        assert Router(engine).handle(Request("POST", path, {}, JSON, body)).status == 201  # type: ignore[union-attr]
        engine.advance(engine.now + 60)
        made.append(len(list(engine.store.list("replicasets"))))
    assert made == [0, 1]


def test_controller_manager_is_all_of_its_controllers() -> None:
    """But the Vertical Pod Autoscaler, which is no part of it."""
    left_out = set(resources_without(["controller-manager"]))
    assert left_out == set(CONTROLLERS.values()) - {"verticalpodautoscalers"}


def test_an_unknown_part_is_named() -> None:
    """With those that there are."""
    with pytest.raises(ConfigError, match="schedulr") as error:
        parts_left_out("hpa,schedulr")
    assert "scheduler, controller-manager, hpa" in str(error.value)
