"""Every scenario that is shipped has the consequence that its description promises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from twin.api.api_faults import ApiFaults
from twin.api.messages import Request
from twin.engine import Engine
from twin.errors import ApiError
from twin.faults import read_scenario
from twin.inprocess import InProcessTwin
from twin.records import NodeRecord, PodRecord
from twin.tests.serving.web import Web

Play = Callable[..., Engine]
EXAMPLES = Path(__file__).parents[3] / "examples" / "scenarios"


def pods(engine: Engine) -> list[PodRecord]:
    """Return all pods."""
    return [pod for pod in engine.store.records("pods") if isinstance(pod, PodRecord)]


def statuses(engine: Engine) -> dict[str, str]:
    """Return each node's Ready status."""
    return {
        node.name: node.ready_status
        for node in engine.store.records("nodes")
        if isinstance(node, NodeRecord)
    }


def reasons(engine: Engine) -> Counter[str]:
    """Count KubeEvents by reason."""
    return Counter(str(event["reason"]) for event in engine.store.list("events"))


def test_all_examples_are_tested() -> None:
    """No example is shipped without a test of this file, and each can be read."""
    names = {path.stem for path in EXAMPLES.iterdir()}
    tested = {name.removeprefix("test_").replace("_", "-") for name in globals()}

    assert names <= tested
    assert all(read_scenario(EXAMPLES / f"{name}.yaml").description for name in names)


def test_node_death(play: Play) -> None:
    """Two nodes are NotReady after a minute, emptied by replacement, and Ready at the end."""
    engine = play("node-death")
    engine.advance(engine.now + 360)
    dead = [name for name, status in statuses(engine).items() if status == "Unknown"]
    assert len(dead) == 2
    engine.advance(engine.now + 360)
    live = [pod for pod in pods(engine) if pod.deletion_at is None]
    assert {pod.node_name for pod in live}.isdisjoint(dead)
    assert len(live) == 12
    engine.advance(engine.now + 1_500)

    assert set(statuses(engine).values()) == {"True"}
    assert not [pod for pod in pods(engine) if pod.deletion_at is not None]


def test_node_shutdown(play: Play) -> None:
    """Its pods fail with Terminated at once, run elsewhere in seconds, and the node comes back."""
    engine = play("node-shutdown")
    engine.advance(engine.now + 302)
    (names,) = (name for name, status in statuses(engine).items() if status == "False")
    ended = [pod for pod in pods(engine) if pod.reason == "Terminated"]
    assert ended
    assert {pod.node_name for pod in ended} == {names}
    engine.advance(engine.now + 30)
    running = [pod for pod in pods(engine) if pod.phase == "Running"]
    assert len(running) == 12
    assert names not in {pod.node_name for pod in running}
    engine.advance(engine.now + 930)

    assert statuses(engine)[names] == "True"
    assert "taints" not in engine.store.get("nodes", "", names)["spec"]


def test_spot(play: Play) -> None:
    """Each machine is tainted first, gone for good later, and its pods run elsewhere in the end."""
    engine = play("spot")
    engine.advance(engine.now + 301)
    tainted = [
        node["metadata"]["name"]
        for node in engine.store.list("nodes")
        if any(t["key"] == "foresail.dev/spot-interruption" for t in node["spec"].get("taints", []))
    ]
    assert len(tainted) == 1
    assert reasons(engine)["SpotInterruption"] == 1
    engine.advance(engine.now + 118)
    assert engine.world.up(tainted[0])
    engine.advance(engine.now + 600)

    assert engine.store.find("nodes", "", tainted[0]) is None
    assert 3 <= engine.store.count("nodes") < 6
    assert sum(pod.phase == "Running" for pod in pods(engine)) == 12


def test_slow_node(play: Play) -> None:
    """A task on the slow node takes longer than its fellows; all tasks succeed."""
    engine = play("slow-node", nodes=3, services=0, tasks=9)
    ended: dict[str, PodRecord] = {}
    for _ in range(80):
        engine.advance(engine.now + 60)
        ended |= {pod.name: pod for pod in pods(engine) if pod.phase == "Succeeded"}
    took = {}
    for name, pod in ended.items():
        assert pod.ended is not None
        took[name] = pod.ended.finished_at - pod.ended.started_at

    assert len(took) == 9
    assert min(took.values()) == pytest.approx(600.0, abs=1.0)
    assert max(took.values()) > 2_000.0


def test_clock_skew(play: Play) -> None:
    """Containers started later on the two machines bear times that are 90 s ahead and 45 s behind."""
    engine = play("clock-skew", services=0, tasks=0)
    engine.advance(engine.now + 61)
    skews = dict(engine.impairments.skew_seconds)
    assert sorted(skews.values()) == [-45.0, 90.0]
    for name in (*skews, "n0"):
        container = {"name": "c", "image": "app:1"}
        spec = {"nodeName": name, "containers": [container]}
        engine.store.create("pods", "default", {"metadata": {"name": f"on-{name}"}, "spec": spec})
    engine.advance(engine.now + 30)
    for pod in pods(engine):
        ahead = pod.container_since - pod.created_at
        assert ahead == pytest.approx(skews.get(pod.node_name, 0.0), abs=20.0), pod.name


def test_image_pull_failure(play: Play) -> None:
    """Pods show ErrImagePull, then ImagePullBackOff, and run once the registry answers."""
    engine = play("image-pull-failure")
    shown: set[str] = set()
    for _ in range(60):
        engine.advance(engine.now + 0.5)
        shown |= {pod.container_reason for pod in pods(engine)}
    assert {"ErrImagePull", "ImagePullBackOff"} <= shown
    assert not [pod for pod in pods(engine) if pod.phase == "Running"]
    engine.advance(engine.now + 600 + 310)

    assert sum(pod.phase == "Running" for pod in pods(engine)) == 12


def count_answers(twin: InProcessTwin, method: str, count: int) -> Counter[int]:
    """Send so many requests, one each second, and count the answers by status."""
    counter: Counter[int] = Counter()
    for number in range(count):
        twin.engine.advance(twin.engine.now + 1)
        body = b'{"metadata": {"name": "c%d-%d"}}' % (number, int(twin.engine.now))
        path = "/api/v1/namespaces/default/configmaps"
        counter[twin.request(method, path, {}, body if method == "POST" else b"")[0]] += 1
    return counter


def test_api_brownout(play: Play) -> None:
    """About a third of the reads is refused with 429, all writes with 503 in the middle."""
    engine = play("api-brownout", services=0)
    twin = InProcessTwin(engine)
    assert count_answers(twin, "GET", 50) == {200: 50}
    engine.advance(engine.now + 12)
    reads = count_answers(twin, "GET", 150)
    assert set(reads) == {200, 429}
    assert 25 <= reads[429] <= 75
    engine.advance(engine.now + 40)
    writes = count_answers(twin, "POST", 60)
    assert set(writes) <= {429, 503}
    assert writes[503] >= 20
    engine.advance(engine.now + 500)

    assert count_answers(twin, "GET", 20) == {200: 20}


def test_broken_watches(play: Play) -> None:
    """Watches are told to end every 20 s, and at 420 s with 410 for all older versions."""
    engine = play("broken-watches")
    told: list[tuple[float, bool]] = []
    start = engine.now
    engine.faults.listen(lambda _resources, expired: told.append((engine.now - start, expired)))
    engine.advance(start + 419)
    cuts = [at for at, expired in told if not expired]
    assert cuts == [60.0 + 20.0 * number for number in range(15)]
    version = engine.store.resource_version
    engine.advance(start + 421)
    assert [at for at, expired in told if expired] == [420.0]
    with pytest.raises(ApiError) as caught:
        engine.store.changes("pods", None, version - 1)

    assert caught.value.status == 410


def shown_at(items: list[dict[str, Any]]) -> set[str]:
    """Return the time stamps of metrics."""
    return {item["timestamp"] for item in items}


def test_metrics_gap(play: Play) -> None:
    """Two nodes are missing, then all stamps stand still, then the API answers 503."""
    engine = play("metrics-gap")
    start = engine.now
    engine.advance(start + 200)
    missing = set(statuses(engine)) - {
        item["metadata"]["name"] for item in engine.metrics.node_metrics()
    }
    assert len(missing) == 2
    names = {item["metadata"]["name"] for item in engine.metrics.pod_metrics()}
    assert {pod.name for pod in pods(engine) if pod.node_name in missing}.isdisjoint(names)
    engine.advance(start + 700)
    old = engine.metrics.node_metrics()
    engine.advance(start + 890)
    assert engine.metrics.node_metrics() == old
    assert shown_at(engine.metrics.pod_metrics()) == {"2026-01-01T00:09:45Z"}
    engine.advance(start + 950)
    assert len(engine.metrics.node_metrics()) == 6
    assert shown_at(engine.metrics.node_metrics()) == {"2026-01-01T00:15:45Z"}
    engine.advance(start + 1_250)
    status, _ = InProcessTwin(engine).request("GET", "/apis/metrics.k8s.io/v1beta1/nodes", {}, b"")

    assert status == 503


def test_burst(play: Play) -> None:
    """Two hundred tasks arrive within a minute, more than there is room for, and all get done."""
    engine = play("burst", services=0)
    start = engine.now
    engine.advance(start + 185)
    assert engine.store.count("jobs") == 200
    waiting = [pod for pod in pods(engine) if not pod.node_name]
    assert len(waiting) > 100
    done: set[str] = set()
    for _ in range(80):
        engine.advance(engine.now + 60)
        done |= {pod.name for pod in pods(engine) if pod.phase == "Succeeded"}

    assert len(done) == 200


def test_health_is_spared(play: Play) -> None:
    """Neither health checks nor the simulation's own paths are refused."""
    engine = play("api-brownout", services=0)
    engine.advance(engine.now + 250)
    faults = ApiFaults(engine)

    assert faults.refusal(Request("POST", "/api/v1/namespaces")) is not None
    for path in ("/healthz", "/foresail/v1/scenario", "/foresail/v1/clock"):
        assert faults.refusal(Request("POST", path)) is None
        assert faults.latency_seconds(Request("POST", path)) == 0.0


def test_rough_weather(play: Play) -> None:
    """Nodes fail within the twelve hours, some after complaints; afterwards no new trouble begins."""
    engine = play("rough-weather")
    failures: list[float] = []
    fail = engine.lifecycle.fail

    def counted(name: str, seconds: float) -> None:
        failures.append(engine.now)
        fail(name, seconds)

    engine.lifecycle.fail = counted  # type: ignore[method-assign]
    begin = engine.now
    engine.advance(begin + 86_400)

    assert failures
    assert max(failures) < begin + 86_400 - 18_000
    assert engine.sky.level == "off"


def test_rush() -> None:
    """Requests triple for ten minutes; then the shop gets the rates of the file, and bursts after it."""
    web = Web("constant requests_per_second=10", replicas=4)
    notes = {"foresail.dev/traffic": "constant requests_per_second=10"}
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    web.create("services", "shop", spec, annotations=notes)
    web.engine.faults.play(read_scenario(EXAMPLES / "rush.yaml"))
    seen: dict[str, list[float]] = {"default/web": [], "default/shop": []}
    for _ in range(9):
        web.run(600)
        for key, sums in seen.items():
            sums.append(web.engine.serving.accounts()[key].arrived)
    rates = {
        key: [round((after - before) / 600) for before, after in pairwise([0.0, *sums])]
        for key, sums in seen.items()
    }
    assert rates["default/web"] == [10, 30, 10, 10, 10, 10, 10, 10, 10]
    assert rates["default/shop"] == [10, 30, 10, 20, 120, 40, 38, 38, 38]
