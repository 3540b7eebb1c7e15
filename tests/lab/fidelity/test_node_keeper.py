"""What stands for kubelets and Metrics Server on the real side does what it says and no more."""

from __future__ import annotations

from typing import Any

from lab.fidelity.cluster import JSON, Object
from lab.fidelity.player import Player
from lab.fidelity.real.metrics_server import RATIO, pod_metrics
from lab.fidelity.real.node_keeper import (
    LEASE_SECONDS,
    START_SECONDS,
    STOP_SECONDS,
    WORK,
    NodeKeeper,
)
from lab.fidelity.scenario import Scenario

STAMP = "2026-01-01T00:00:00.000000Z"


class Recorder:
    """A cluster that answers all requests, some with a status of their own, and keeps them."""

    def __init__(
        self, statuses: dict[str, int] | None = None, pods: list[Object] | None = None
    ) -> None:
        """Answer with 200 unless the path's last part has a status in `statuses`."""
        self.asked: list[tuple[str, str]] = []
        self._statuses = statuses or {}
        self._pods = pods or []

    def request(
        self, method: str, path: str, body: Object | None = None, content_type: str = JSON
    ) -> tuple[int, Object]:
        """Keep the request and answer it."""
        if method == "GET":
            return 200, {"items": self._pods}
        self.asked.append((method, path.removeprefix("/api/v1")))
        return self._statuses.get(path.rpartition("/")[2], 200), {}


def node(name: str) -> Object:
    """Return a Node."""
    return {"metadata": {"name": name}}


def pod(name: str, on: str = "", **meta: Any) -> Object:
    """Return a Pod, bound to a node if one is named."""
    labels = {"app": "web"}
    whole = {"name": name, "namespace": "default", "uid": name, "labels": labels, **meta}
    amounts = {"requests": {"cpu": "200m"}, "limits": {"cpu": "400m"}}
    spec = {"nodeName": on, "containers": [{"name": "app", "image": "app:1", "resources": amounts}]}
    return {"metadata": whole, "spec": spec, "status": {"phase": "Running"}}


def test_a_bound_pod_runs_after_its_start_time_and_once() -> None:
    """Not before the fixed time after the binding was seen, not without a node, and not again."""
    cluster = Recorder()
    keeper = NodeKeeper(cluster)
    pods = [pod("bound", "n1"), pod("waiting"), pod("elsewhere", "unknown")]
    keeper.work(0.0, STAMP, pods, [node("n1")])
    cluster.asked.clear()
    keeper.work(START_SECONDS - 0.1, STAMP, pods, [node("n1")])
    assert cluster.asked == []
    for _ in range(2):
        keeper.work(START_SECONDS, STAMP, pods, [node("n1")])
    assert cluster.asked == [("PATCH", "/namespaces/default/pods/bound/status")]


def test_a_pod_ends_when_its_work_is_done() -> None:
    """So many seconds after its start as its annotation says, and once; without one it runs on."""
    cluster = Recorder()
    keeper = NodeKeeper(cluster)
    pods = [pod("job", "n1", annotations={WORK: "5"}), pod("server", "n1")]
    for now in (0.0, START_SECONDS):
        keeper.work(now, STAMP, pods, [node("n1")])
    cluster.asked.clear()
    keeper.work(START_SECONDS + 4.9, STAMP, pods, [])
    keeper.work(START_SECONDS + 4.9, STAMP, pods, [node("n1")])
    assert cluster.asked == []
    for _ in range(2):
        keeper.work(START_SECONDS + 5.0, STAMP, pods, [node("n1")])
    assert cluster.asked == [("PATCH", "/namespaces/default/pods/job/status")]


def test_a_deleted_pod_ends_after_its_stop_time() -> None:
    """A pod with a deletion time goes when the fixed time is over."""
    cluster = Recorder()
    keeper = NodeKeeper(cluster)
    pods = [pod("going", "n1", deletionTimestamp=STAMP)]
    keeper.work(0.0, STAMP, pods, [node("n1")])
    cluster.asked.clear()
    keeper.work(STOP_SECONDS - 0.1, STAMP, pods, [node("n1")])
    assert cluster.asked == []
    keeper.work(STOP_SECONDS, STAMP, pods, [node("n1")])
    assert cluster.asked == [("DELETE", "/namespaces/default/pods/going")]


def test_a_dead_node_gives_no_sign_and_ends_no_pod() -> None:
    """Living nodes renew their lease every ten seconds; a failed one and its pods are left alone."""
    cluster = Recorder()
    keeper = NodeKeeper(cluster)
    nodes = [node("n1"), node("n2")]
    keeper.work(0.0, STAMP, [], nodes)
    keeper.work(LEASE_SECONDS - 1.0, STAMP, [], nodes)
    assert [path for _, path in cluster.asked if path.endswith("status")] == [
        "/nodes/n1/status",
        "/nodes/n2/status",
    ]
    keeper.fail("n1")
    cluster.asked.clear()
    for now in (20.0, 40.0):
        keeper.work(now, STAMP, [pod("going", "n1", deletionTimestamp=STAMP)], nodes)
    assert {path for _, path in cluster.asked if "n1" in path or "pods" in path} == set()
    assert [path for _, path in cluster.asked].count("/nodes/n2/status") == 2


def test_usage_is_capped_by_the_limit() -> None:
    """A pod uses the ratio of its request that its annotation says, at most its limit."""
    for ratio, expected in (("0.5", "100000000n"), ("10", "400000000n")):
        row = pod_metrics(pod("web", "n1", annotations={RATIO: ratio}), STAMP)
        assert row["containers"][0]["usage"]["cpu"] == expected


def test_a_refused_eviction_is_asked_for_again_after_five_seconds() -> None:
    """As kubectl drain does; what was granted is not asked for again, and answers are kept."""
    cluster = Recorder({"eviction": 429}, [pod("web", "n1")])
    step = {"t": 0, "drain": "n1"}
    scenario = Scenario("made-up", "Nothing.", "control-plane", 20.0, (), (step,), ())
    player = Player(scenario, cluster, NodeKeeper(cluster))
    for now in (0.0, 2.0, 4.5, 5.0, 9.0):
        player.play(now)
    assert player.answers == [(0.0, "eviction", 429), (5.0, "eviction", 429)]
