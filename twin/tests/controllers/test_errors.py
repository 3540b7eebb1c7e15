"""One error ends nothing: what raises is told, tried again, and everything else goes on."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.clock import MOST_TRIES, Clock
from twin.config import TwinConfig
from twin.engine import Engine
from twin.workloads import open_workload

NAMESPACES = "/api/v1/namespaces"
PODS = "/api/v1/namespaces/default/pods"


class Cluster:
    """Four machines behind a router, asked as clients ask."""

    def __init__(self) -> None:
        self.engine = Engine(TwinConfig(), 1)
        self.engine.add_nodes(open_workload("idle", nodes=4, seed=1).nodes)
        self.router = Router(self.engine)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and answer of one request."""
        content = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        answer = self.router.handle(Request(method, path, {}, headers, content))
        assert isinstance(answer, Response)
        return answer.status, json.loads(answer.body)

    def run(self, seconds: float) -> None:
        """Let cluster time pass."""
        self.engine.advance(self.engine.now + seconds)

    def deploy(self, namespace: str, name: str, **resources: Any) -> None:
        """Create a Deployment of one pod."""
        container = {"name": "c", "image": "x", "resources": resources}
        spec = {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        }
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        status, answer = self.ask("POST", path, {"metadata": {"name": name}, "spec": spec})
        assert status == 201, answer

    def pods(self) -> dict[str, Any]:
        """Return the pods of namespace default by their label app."""
        items = self.ask("GET", PODS)[1]["items"]
        return {item["metadata"]["labels"]["app"]: item for item in items}


@pytest.fixture
def cluster() -> Cluster:
    """Give a small cluster."""
    return Cluster()


def test_a_namespace_may_go_while_a_deployment_in_it_begins(cluster: Cluster) -> None:
    """A refusal by the API server is tried again until the object is gone; others are served meanwhile."""
    for number in range(4):
        name = f"short-{number}"
        cluster.ask("POST", NAMESPACES, {"metadata": {"name": name}})
        cluster.deploy(name, "web")
        cluster.ask("DELETE", f"{NAMESPACES}/{name}")
        cluster.run(1)
    cluster.deploy("default", "web")
    cluster.run(60)

    left = {item["metadata"]["name"] for item in cluster.ask("GET", NAMESPACES)[1]["items"]}
    assert not {name for name in left if name.startswith("short-")}
    assert cluster.pods()["web"]["status"]["phase"] == "Running"


def _break_reconciler(cluster: Cluster, resource: str, name: str) -> list[float]:
    """Let one object of a resource raise; return the times at which that happens."""
    loop, raised = cluster.engine.plane.loop, []
    real = loop._reconcilers[resource]

    def reconcile(namespace: str, of: str) -> bool | None:
        if of == name:
            raised.append(cluster.engine.now)
            raise RuntimeError("planted")
        return real(namespace, of)

    loop._reconcilers[resource] = reconcile
    return raised


def test_an_object_that_raises_is_tried_ever_later_and_others_go_on(cluster: Cluster) -> None:
    """It is logged with its key, and the delay doubles."""
    cluster.engine.survive(structlog.get_logger())
    raised = _break_reconciler(cluster, "deployments", "bad")
    with capture_logs() as logged:
        for name in ("bad", "good"):
            cluster.deploy("default", name)
        cluster.run(60)

    # Each look comes 50 ms after it was asked for; the first two answer changes of the object itself.
    waits = [round(after - before - 0.05, 3) for before, after in itertools.pairwise(raised)]
    assert waits[2:6] == [0.02, 0.04, 0.08, 0.16]
    assert [*cluster.pods()] == ["good"]
    assert {entry["of"] for entry in logged} == {("deployments", "default", "bad")}
    assert cluster.engine.failed_steps == len(raised) > 10


def test_without_being_asked_to_survive_a_defect_ends_the_run(cluster: Cluster) -> None:
    """In a test or an experiment a defect is seen at once."""
    _break_reconciler(cluster, "deployments", "bad")
    cluster.deploy("default", "bad")

    with pytest.raises(RuntimeError, match="planted"):
        cluster.run(1)


def test_a_poisoned_event_does_not_come_back_for_ever() -> None:
    """An event of the clock is tried so many times and given up; those beside it all happen."""
    clock, told, happened = Clock(0.0), [], []
    clock.survive(lambda kind, arguments, _error: told.append((kind, arguments)))

    def poisoned(name: str) -> None:
        raise ValueError(name)

    clock.handle("poisoned", poisoned)
    clock.handle("sound", happened.append)
    for number in range(5):
        clock.at(float(number), "sound", number)
    clock.at(1.0, "poisoned", "it")
    clock.run(10_000.0)

    assert happened == [0, 1, 2, 3, 4]
    assert told == [("poisoned", ("it",))] * MOST_TRIES


def test_a_request_that_raises_is_answered_with_a_status(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client reads 500 as a Status, the log names the request, and the next one is served."""

    def raising(*_: Any) -> None:
        raise OverflowError("planted")

    with monkeypatch.context() as broken, capture_logs() as logged:
        broken.setattr(cluster.router, "_answer_kind", raising)
        status, answer = cluster.ask("GET", PODS)

    assert (status, answer["kind"], answer["reason"]) == (500, "Status", "InternalError")
    assert [(entry["method"], entry["path"]) for entry in logged] == [("GET", PODS)]
    assert cluster.ask("GET", PODS)[0] == 200


@pytest.mark.parametrize("amount", ["100E", "1e100", "9223372036854775808", "100Ei"])
def test_an_amount_beyond_64_bits_waits_for_ever(cluster: Cluster, amount: str) -> None:
    """As in apimachinery it counts as 2^63-1: the pod is there, and no machine is large enough."""
    cluster.deploy("default", "huge", limits={"memory": amount})
    cluster.deploy("default", "wide", requests={"cpu": amount})
    cluster.deploy("default", "usual", requests={"memory": "64Mi"})
    cluster.run(30)

    words = {
        name: pod["status"]["conditions"][0].get("message") or ""
        for name, pod in cluster.pods().items()
    }
    assert words["huge"].startswith("0/4 nodes are available: 4 Insufficient memory.")
    assert words["wide"].startswith("0/4 nodes are available: 4 Insufficient cpu.")
    assert cluster.pods()["usual"]["status"]["phase"] == "Running"
