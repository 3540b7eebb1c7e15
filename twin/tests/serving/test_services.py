"""Requests in the cluster: what contention, throttling, restarts and failures do to people."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import pytest

from twin.config.health import HealthConfig
from twin.errors import ApiError
from twin.faults import scenario_of
from twin.tests.serving.web import Web

MODES = ["aggregate", "exact"]


@pytest.mark.parametrize("mode", MODES)
def test_requests_are_served_by_ready_pods(mode: str) -> None:
    """At half the load all requests are served, evenly, with the latency of the closed form."""
    web = Web(mode=mode, replicas=2)
    web.run(60)
    web.forget()
    web.run(1_800)
    assert web.account.served == pytest.approx(40 * 1_800, rel=0.02)
    assert web.account.timed_out + web.account.refused + web.account.lost == 0.0
    first, second = web.backends["served"]
    assert first == pytest.approx(second, rel=0.05)
    mean = web.account.latency_seconds / web.account.served
    assert mean == pytest.approx(0.02 / (1.0 - 0.4), rel=0.05)  # M/M/1 at load 0.4


def test_usage_follows_the_requests() -> None:
    """A pod behind a Service uses the CPU of its requests and its idle share, nothing else."""
    web = Web(replicas=2)
    web.run(120)
    [first, *_] = web.pods()
    millicores = web.engine.usage["cpu_now"][web.engine.usage.row_of[first.uid]]
    assert millicores == pytest.approx(20 * 0.02 * 1_000 + 5.0)
    web.scale(4)
    web.run(120)
    assert web.engine.usage["cpu_now"][web.engine.usage.row_of[first.uid]] == pytest.approx(205.0)


@pytest.mark.parametrize("mode", MODES)
def test_throttled_pod_is_slow(mode: str) -> None:
    """A limit of half a core doubles the time of each service, and the queue before it grows more."""
    fast, slow = (Web(mode=mode, replicas=2, limit=limit) for limit in ("1", "500m"))
    for web in (fast, slow):
        web.run(60)
        web.forget()
        web.run(600)
    assert slow.latency(0.5) > 2.5 * fast.latency(0.5)


@pytest.mark.parametrize("mode", MODES)
def test_contention_becomes_latency(mode: str) -> None:
    """Neighbours that want more than their node has slow the pods that serve beside them."""
    web = Web(mode=mode, replicas=3, nodes=1, cores=4)
    web.run(60)
    web.forget()
    web.run(300)
    before = web.latency(0.95)
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "700m"}}}
    pod = {"restartPolicy": "Never", "containers": [container]}
    notes = {"foresail.dev/cpu-usage-ratio": "4", "foresail.dev/work-seconds": "100000"}
    for number in range(3):
        web.engine.store.create(
            "pods",
            "default",
            {"metadata": {"name": f"busy-{number}", "annotations": notes}, "spec": pod},
        )
    web.run(60)
    web.forget()
    web.run(300)
    assert web.latency(0.95) > 1.5 * before


@pytest.mark.parametrize("mode", MODES)
def test_overload_fails_the_share_that_nobody_can_serve(mode: str) -> None:
    """At a load of 1.5 a third of the requests fails once clients give up, and pods use all they may."""
    web = Web(
        "constant requests_per_second=150", mode=mode, replicas=2, request_timeout_seconds="5"
    )
    web.run(120)
    web.forget()
    web.run(600)
    account = web.account
    assert account.timed_out / (account.timed_out + account.served) == pytest.approx(
        1 / 3, rel=0.05
    )
    assert web.latency(0.5) == pytest.approx(5.0, rel=0.05)
    rows = [web.engine.usage.row_of[uid] for uid in web.backends.uids]
    assert web.engine.usage["cpu_now"][rows].tolist() == pytest.approx([1_000.0, 1_000.0])


@pytest.mark.parametrize("mode", MODES)
def test_dead_machine_loses_requests_until_it_is_noticed(mode: str) -> None:
    """What is in its pods is lost, and what is sent there too, until the node controller takes the pods
    out of the endpoints 40 to 55 s later; then nobody notices any more.
    """
    web = Web("constant requests_per_second=60", mode=mode, replicas=3)
    web.run(60)
    victim = next(web.pods()).node_name
    pods = sum(pod.node_name == victim for pod in web.pods())
    web.engine.fail_node(victim, 600.0)
    web.run(120)
    lost = web.account.lost
    assert 60 / 3 * pods * 38 < lost < 60 / 3 * pods * 58
    web.run(120)
    assert web.account.lost == lost


def test_without_a_ready_pod_requests_are_refused() -> None:
    """A Service without endpoints refuses each request; they are served again once pods are back."""
    web = Web(replicas=1)
    web.run(60)
    web.scale(0)
    web.run(60)
    refused = web.account.refused
    assert refused == pytest.approx(40 * 60, rel=0.2)
    web.scale(1)
    web.run(60)
    later = web.account.refused
    web.run(60)
    assert web.account.refused == later


def test_pod_that_warms_up_is_slow_at_first() -> None:
    """With a warm-up the first minutes have a higher latency than the same pods later."""
    web = Web(replicas=1, request_cpu_seconds="0.006", warm_up_seconds="120")
    web.run(60)
    young = web.latency(0.5)
    web.run(120)
    web.forget()
    web.run(60)
    assert young > 1.5 * web.latency(0.5)


ROUGH = HealthConfig(
    weather="rough",
    rough_rate_factor=1.0,
    rough_share_factor=1.0,
    node_mttf_days=0.05,
    node_down_mean_seconds=60.0,
    pod_crashes_per_day=100.0,
    answer_median_seconds=2.0,
    warm_cpu_ratio=2.0,
)
"""Weather of which ten minutes hold something: machines that die, pods that crash, and cold starts."""
PROBES = {
    kind: {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5, "failureThreshold": 2}
    for kind in ("readinessProbe", "livenessProbe")
}


def _play(web: Web, **fault: Any) -> None:
    web.engine.faults.play(scenario_of({"faults": [fault]}, "s"))


def _disturb(web: Web, luck: random.Random) -> None:
    choice = luck.randrange(9)
    if choice == 5:
        pods = [pod for pod in web.pods() if pod.node_name]
        if pods:
            with suppress(ApiError):
                web.engine.evict("default", luck.choice(pods).name)
    elif choice == 6:
        _play(
            web, fault="traffic", duration_seconds=luck.choice([7, 40]), factor=luck.choice([0, 3])
        )
    elif choice == 7:
        course = luck.choice(["bursts base=10 burst=300 every_seconds=30 last_seconds=9",
                              "recorded rates=0:200,5:0,11:90"])  # fmt: skip
        _play(web, fault="traffic", duration_seconds=30, traffic=course)
    elif choice == 8:
        machine = {"names": [f"n{luck.randrange(3)}"]}
        _play(web, fault="node_shutdown", duration_seconds=60, grace_seconds=20, nodes=machine)
    elif choice == 0:
        web.scale(luck.randrange(6))
    elif choice == 1:
        web.engine.fail_node(f"n{luck.randrange(3)}", 90.0)
    elif choice == 2:
        pods = list(web.pods())
        if pods:
            web.engine.store.delete("pods", "default", luck.choice(pods).name)
    elif choice == 3:
        pods = [pod for pod in web.pods() if pod.container_state == "running"]
        if pods:
            web.engine.kubelet.kill_for_memory(luck.choice(pods).uid, "tested")
    else:
        obj = web.engine.store.get("services", "default", "web")
        rate = f"constant requests_per_second={luck.choice([0, 30, 90, 400])}"
        notes = {**obj["metadata"]["annotations"], "foresail.dev/traffic": rate}
        web.engine.store.replace(
            "services",
            "default",
            "web",
            {**obj, "metadata": {**obj["metadata"], "annotations": notes}},
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_every_request_ends_once_whatever_happens(mode: str, seed: int) -> None:
    """Through scaling, dead machines, machines that are shut down, deleted, evicted and killed pods, failing probes,
    cold starts, and traffic that its owner or a scenario changes, each request is served, failed, lost or still
    present, exactly once.
    """
    harsh = {"health": ROUGH, "container": PROBES} if seed % 2 else {}
    web, luck = Web(mode=mode, **harsh), random.Random(seed)
    for _ in range(25):
        web.run(luck.choice([0.0, 1.3, 20.0]))
        _disturb(web, luck)
        assert web.unaccounted() == pytest.approx(0.0, abs=1e-6 * (1.0 + web.account.arrived))
    web.run(20)
    assert web.account.arrived > 1_000
    assert web.unaccounted() == pytest.approx(0.0, abs=1e-6 * web.account.arrived)
    assert web.account.latencies.sum() == pytest.approx(web.account.served)
    if mode == "exact":
        assert web.account.arrived == int(web.account.arrived)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(3))
def test_littles_law_holds_whatever_happens(mode: str, seed: int) -> None:
    """The integral of how many are present is the time that all requests spent: of the served their latency, of
    those who gave up their patience, and of the lost no more than it takes to lose patience and be served.
    """
    patience = 3.0
    web = Web(mode=mode, health=ROUGH if seed else None, container=PROBES if seed else None,
              request_timeout_seconds=f"{patience}")  # fmt: skip
    luck = random.Random(seed)
    for _ in range(15):
        web.run(luck.choice([2.0, 20.0]))
        _disturb(web, luck)
    _play(web, fault="traffic", factor=0)
    web.run(120)
    account = web.account
    assert float(web.backends["present"].sum()) == pytest.approx(0.0, abs=1e-6)
    known = account.latency_seconds + patience * account.timed_out
    most = known + (patience + 1.0) * account.lost
    exact = mode == "exact"
    assert account.present_seconds >= known * (1.0 - 1e-9 if exact else 0.85)
    assert account.present_seconds <= most * (1.0 + 1e-9 if exact else 1.15)
    assert account.served > 1_000


@pytest.mark.parametrize("mode", MODES)
def test_slices_of_time_change_nothing(mode: str) -> None:
    """A run that is advanced in many small pieces comes to the same state."""
    states = []
    for pieces in (1, 7):
        web, luck = Web(mode=mode), random.Random(11)
        for _ in range(12):
            for _ in range(pieces):
                web.run(21.0 / pieces)
            _disturb(web, luck)
        web.engine.advance(web.engine.config.start_time + 400.0)
        states.append(web.engine.state_hash())
    assert states[0] == states[1]


def test_action_elsewhere_changes_no_request() -> None:
    """Cordoning a node that no pod runs on leaves every drawn request as it is."""
    found = []
    for cordon in (False, True):
        web = Web(mode="exact", replicas=2, nodes=3)
        web.run(60)
        used = {pod.node_name for pod in web.pods()}
        [idle] = [name for name in ("n0", "n1", "n2") if name not in used]
        if cordon:
            node = web.engine.store.get("nodes", "", idle)
            web.engine.store.replace("nodes", "", idle, {**node, "spec": {"unschedulable": True}})
        web.run(300)
        found.append((web.account.latencies.tolist(), web.account.latency_seconds))
    assert found[0] == found[1]


def test_pods_draw_apart() -> None:
    """In exact mode two pods of one Service get different requests."""
    web = Web(mode="exact", replicas=2)
    web.run(60)
    before = web.backends["arrived"].tolist()
    web.run(240)
    first, second = (now - then for now, then in zip(web.backends["arrived"], before, strict=True))
    assert first != second
