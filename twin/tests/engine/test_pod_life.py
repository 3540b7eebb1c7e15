"""Pods on their nodes: start, work, memory, restarts and the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.behaviour.kubelet import image_bytes
from twin.behaviour.pod_work import CPU_USAGE_RATIO, MEMORY_USAGE_RATIO, OUTCOME, WORK_SECONDS
from twin.config import TwinConfig
from twin.engine import Engine
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

Build = Callable[..., dict[str, Any]]
GIB = 2**30


def record_of(engine: Engine, name: str) -> PodRecord:
    """Return the live record of a pod in the default namespace."""
    record = engine.store.record("pods", "default", name)
    assert isinstance(record, PodRecord)
    return record


def annotate(engine: Engine, node: str, **settings: str) -> None:
    """Set node actuators, as the executor does."""
    obj = engine.store.get("nodes", "", node)
    notes = {f"foresail.dev/{key.replace('_', '-')}": value for key, value in settings.items()}
    metadata = {**obj["metadata"], "annotations": notes}
    engine.store.replace("nodes", "", node, {**obj, "metadata": metadata})


def test_start_up_stays_within_the_slo() -> None:
    """Of 300 pods whose image is on the node, 99 % run within 5 s of their creation.

    They come at 50 a second, which is what the scheduler's client lets it bind.
    """
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape(f"n{i}", 400_000, 800 * GIB, 0, {}) for i in range(3)])
    obj: dict[str, Any] = {"spec": {"containers": [{"name": "c", "image": "app:1"}]}}
    for index in range(3):
        warm = {"metadata": {"name": f"warm-{index}"}}
        warm["spec"] = {**obj["spec"], "nodeName": f"n{index}"}
        engine.store.create("pods", "default", warm)
    engine.advance(engine.now + 60)
    for index in range(300):
        engine.store.create("pods", "default", {**obj, "metadata": {"name": f"p-{index}"}})
        engine.advance(engine.now + 0.02)
    engine.advance(engine.now + 60)
    pods = [record_of(engine, f"p-{index}") for index in range(300)]
    took = sorted(pod.container_since - pod.created_at for pod in pods)

    assert 1.0 < took[150] < 3.0
    assert took[296] <= 5.0


def test_the_first_use_of_an_image_waits_for_its_pull(engine: Engine, pod: Build) -> None:
    """A pod with a new image starts later by size over bandwidth than one that finds it there."""
    select = {"kubernetes.io/hostname": "n0"}
    engine.store.create("pods", "default", pod("first", nodeSelector=select))
    engine.advance(engine.now + 30)
    pull = image_bytes("app:1") / engine.config.pull_bytes_per_second
    first = record_of(engine, "first")
    images = engine.store.get("nodes", "", "n0")["status"]["images"]

    assert first.container_since - first.created_at > pull
    assert images == [{"names": ["app:1"], "sizeBytes": image_bytes("app:1")}]


def test_readiness_follows_the_probe(engine: Engine, pod: Build) -> None:
    """A pod with a readiness probe runs before it is ready."""
    obj = pod("a")
    obj["spec"]["containers"][0]["readinessProbe"] = {
        "tcpSocket": {"port": 80},
        "initialDelaySeconds": 20,
    }
    engine.store.create("pods", "default", obj)
    engine.advance(engine.now + 15)
    early = record_of(engine, "a")
    assert (early.phase, early.ready) == ("Running", False)
    engine.advance(engine.now + 30)

    assert record_of(engine, "a").ready_at == pytest.approx(early.container_since + 21.0)


def test_work_takes_its_time_and_ends_as_said(engine: Engine, pod: Build) -> None:
    """40 s of work on an idle node end 40 s after the start, with the exit code asked for."""
    for name, outcome in (("good", "succeed"), ("bad", "fail")):
        notes = {WORK_SECONDS: "40", OUTCOME: outcome}
        obj = pod(name, annotations=notes, restartPolicy="Never")
        engine.store.create("pods", "default", obj)
    engine.advance(engine.now + 60)
    good, bad = record_of(engine, "good").ended, record_of(engine, "bad").ended

    assert good is not None
    assert bad is not None
    assert (good.exit_code, good.reason) == (0, "Completed")
    assert (bad.exit_code, bad.reason) == (1, "Error")
    assert good.finished_at - good.started_at == pytest.approx(40.0, abs=1e-5)


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [({"clock_scale": "0.5"}, 80.0), ({}, 40.0), ({"power_state": "sleep"}, 40.0 / 0.35)],
)
def test_a_slower_clock_stretches_work(
    engine: Engine, pod: Build, settings: dict[str, str], seconds: float
) -> None:
    """At half the clock 40 s of work take 80 s: it slows and does not vanish."""
    annotate(engine, "n0", **settings)
    engine.advance(engine.now + 15)
    select = {"kubernetes.io/hostname": "n0"}
    notes = {WORK_SECONDS: "40", CPU_USAGE_RATIO: "0.3"}
    engine.store.create(
        "pods", "default", pod("a", annotations=notes, nodeSelector=select, restartPolicy="Never")
    )
    engine.advance(engine.now + 140)
    ended = record_of(engine, "a").ended

    assert ended is not None
    assert ended.finished_at - ended.started_at == pytest.approx(seconds, abs=1e-4)


def test_a_crowded_node_slows_everybody(engine: Engine, pod: Build) -> None:
    """Two pods that each want about all four cores need about twice their time."""
    select = {"kubernetes.io/hostname": "n0"}
    notes = {WORK_SECONDS: "60", CPU_USAGE_RATIO: "2"}
    for name in "ab":
        engine.store.create(
            "pods",
            "default",
            pod(name, cpu="2", annotations=notes, nodeSelector=select, restartPolicy="Never"),
        )
    engine.advance(engine.now + 300)
    for name in "ab":
        ended = record_of(engine, name).ended
        assert ended is not None
        assert 75.0 < ended.finished_at - ended.started_at < 165.0


def test_a_container_over_its_limit_is_killed_and_backs_off(engine: Engine, pod: Build) -> None:
    """OOMKilled is exit 137; restarts come after 10, 20, 40 s and the text says so."""
    limits = {"memory": "1Gi"}
    notes = {MEMORY_USAGE_RATIO: "4"}
    engine.store.create("pods", "default", pod("leak", limits=limits, annotations=notes))
    waits: list[float] = []
    until = engine.now + 150
    while engine.now < until:
        engine.advance(engine.now + 1)
        status = engine.store.get("pods", "default", "leak")["status"]
        for entry in status.get("containerStatuses", []):
            waiting = entry["state"].get("waiting", {})
            if waiting.get("reason") == "CrashLoopBackOff":
                wait = float(waiting["message"].split("back-off ")[1].split("s ")[0])
                waits += [wait] if not waits or waits[-1] != wait else []
    ended = record_of(engine, "leak").ended

    assert waits[:3] == [10.0, 20.0, 40.0]
    assert ended is not None
    assert (ended.exit_code, ended.reason) == (137, "OOMKilled")
    assert record_of(engine, "leak").restart_count >= 2


def test_a_full_node_kills_the_lowest_class_first(engine: Engine, pod: Build) -> None:
    """When a node holds more than it has, BestEffort goes before Burstable before Guaranteed."""
    select = {"kubernetes.io/hostname": "n0"}
    limits = {"cpu": "1", "memory": "3Gi"}
    solid = pod("solid", memory="3Gi", limits=limits, nodeSelector=select,
                annotations={MEMORY_USAGE_RATIO: "0.8"})  # fmt: skip
    greedy = pod("greedy", memory="3Gi", nodeSelector=select,
                 annotations={MEMORY_USAGE_RATIO: "2.6"})  # fmt: skip
    for obj in (solid, greedy):
        engine.store.create("pods", "default", obj)
    engine.advance(engine.now + 600)

    assert engine.store.get("pods", "default", "solid")["status"]["qosClass"] == "Guaranteed"
    assert record_of(engine, "solid").restart_count == 0
    assert record_of(engine, "greedy").ended is not None


def test_a_squeezed_node_uses_less_and_risks_more(pod: Build) -> None:
    """Memory scale 0.5 halves the working sets and kills some pods that lived before."""

    def run(scale: str) -> tuple[float, int]:
        engine = Engine(seed=2)
        engine.add_nodes([NodeShape("n", 100_000, 100 * GIB, 0, {})])
        annotate(engine, "n", memory_scale=scale)
        for index in range(40):
            engine.store.create("pods", "default", pod(f"p{index}"))
        engine.advance(engine.now + 900)
        rows = engine.usage.rows()
        ratio = engine.usage["memory_now"][rows] / engine.usage["memory_wanted"][rows]
        killed = sum(record_of(engine, f"p{index}").restart_count > 0 for index in range(40))
        return float(ratio.mean()), killed

    assert run("1.0") == (1.0, 0)
    ratio, killed = run("0.5")
    assert ratio == pytest.approx(0.5)
    assert killed > 0


def test_a_deleted_pod_gets_its_grace(engine: Engine, pod: Build) -> None:
    """A running pod is Terminating for a moment; with grace 0 it goes at once."""
    for name in "ab":
        engine.store.create("pods", "default", pod(name))
    engine.advance(engine.now + 20)
    marked = engine.store.delete("pods", "default", "a")
    engine.store.delete("pods", "default", "b", grace_period_seconds=0)

    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert engine.store.find("pods", "default", "b") is None
    assert engine.store.find("pods", "default", "a") is not None
    engine.advance(engine.now + 30)
    assert engine.store.find("pods", "default", "a") is None


def test_kube_events_are_bounded(pod: Build) -> None:
    """No more KubeEvents are kept than the settings say, and old ones go."""
    engine = Engine(TwinConfig(event_limit=10), seed=1)
    engine.add_nodes([NodeShape("n", 100_000, 100 * GIB, 0, {})])
    for index in range(20):
        engine.store.create("pods", "default", pod(f"p{index}"))
    engine.advance(engine.now + 60)

    assert engine.store.count("events") == 10
