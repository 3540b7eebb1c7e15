"""Programs start, warm up, leak, crash and fall silent as the weather says."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.config.health import HealthConfig
from twin.engine import Engine
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

GIB = 2**30
CALM = HealthConfig(
    weather="rough",
    rough_rate_factor=1.0,
    rough_share_factor=1.0,
    node_mttf_days=math.inf,
    slow_per_node_year=0.0,
    rack_mttf_years=math.inf,
    zone_failures_per_year=0.0,
    pod_crashes_per_day=0.0,
    image_outbreaks_per_year=0.0,
    leaking_ratio=0.0,
    warm_cpu_ratio=1.0,
)
"""Weather in which nothing happens yet."""
PROBE = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5}
Build = Callable[..., Engine]


@pytest.fixture
def build() -> Build:
    """Build a cluster of one large node: build(**health settings)."""

    def built(*, cores: int = 32, **settings: Any) -> Engine:
        engine = Engine(TwinConfig(health=replace(CALM, **settings)), seed=5)
        engine.add_nodes([NodeShape("n0", cores * 1_000, 64 * GIB, 0, {})])
        return engine

    return built


def deploy(
    engine: Engine, name: str, replicas: int = 1, *, cpu: str = "100m", **container: Any
) -> None:
    """Create a Deployment whose pods use all of their request."""
    notes = {"foresail.dev/cpu-usage-ratio": "1", "foresail.dev/memory-usage-ratio": "0.5"}
    resources = {"requests": {"cpu": cpu, "memory": "256Mi"}, "limits": {"memory": "512Mi"}}
    spec = {
        "containers": [{"name": "c", "image": f"{name}:1", "resources": resources, **container}]
    }
    template = {"metadata": {"labels": {"app": name}, "annotations": notes}, "spec": spec}
    body = {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template,
        },
    }
    engine.store.create("deployments", "default", body)


def pods(engine: Engine, app: str = "") -> list[PodRecord]:
    """Return the pods of a Deployment, or all."""
    found = [pod for pod in engine.store.records("pods") if isinstance(pod, PodRecord)]
    return [pod for pod in found if not app or pod.labels.get("app") == app]


def reasons(engine: Engine) -> Counter[str]:
    """Count KubeEvents by reason."""
    return Counter(str(event["reason"]) for event in engine.store.list("events"))


def test_pods_crash_as_often_as_set(build: Build) -> None:
    """The count of crashes over many pods and hours is that of the rate; they run again."""
    engine = build(pod_crashes_per_day=0.5)
    deploy(engine, "web", 60, cpu="10m")
    engine.advance(engine.now + 86_400.0)
    crashes = sum(pod.restart_count for pod in pods(engine))

    assert abs(crashes - 30.0) <= 4.0 * math.sqrt(30.0)
    assert all(pod.ended is None or pod.ended.exit_code == 1 for pod in pods(engine))


def test_an_outbreak_takes_all_pods_of_an_image(build: Build) -> None:
    """Each pod of it crashes within two minutes; pods of other images go on."""
    engine = build(image_outbreaks_per_year=60.0)
    for name in ("a", "b", "c"):
        deploy(engine, name, 5)
    for _ in range(200):
        engine.advance(engine.now + 3_600.0)
        hit = {name for name in "abc" if any(pod.restart_count for pod in pods(engine, name))}
        if hit:
            break
    assert len(hit) == 1
    (name,) = hit
    assert [pod.restart_count for pod in pods(engine, name)] == [1] * 5
    ends = [pod.ended.finished_at for pod in pods(engine, name) if pod.ended is not None]
    assert max(ends) - min(ends) <= 120.0


def test_a_leak_can_be_seen_coming(build: Build) -> None:
    """The working set grows for a long time before the kernel kills the container."""
    engine = build(leaking_ratio=1.0, leak_median_seconds=3_600.0)
    deploy(engine, "web")
    engine.advance(engine.now + 900.0)
    usage = engine.usage
    (row,) = usage.rows().tolist()
    early = float(usage["memory_now"][row])
    deadline = engine.now + 86_400.0
    while not pods(engine)[0].restart_count:
        assert engine.now < deadline, "it never ran out of memory"
        latest = float(usage["memory_now"][row])
        engine.advance(engine.now + 60.0)

    assert latest > 1.5 * early
    assert reasons(engine)["OOMKilling"] == 1
    (row,) = usage.rows().tolist()
    assert float(usage["memory_now"][row]) < latest


def test_leaks_are_of_workloads(build: Build) -> None:
    """Half of them leak when half is asked for, each with all of its pods or none."""
    engine = build(leaking_ratio=0.5)
    for number in range(40):
        deploy(engine, f"w{number}", 2, cpu="10m")
    engine.advance(engine.now + 200.0)  # forty images are pulled one after the other
    table = engine.usage
    leaks = {
        app: {float(table["leak"][table.row_of[pod.uid]]) for pod in pods(engine, app)}
        for app in (f"w{number}" for number in range(40))
    }
    assert all(len(rates) == 1 for rates in leaks.values())
    assert 10 <= sum(rates != {0.0} for rates in leaks.values()) <= 30


def test_images_take_their_own_time_to_answer(build: Build) -> None:
    """Pods of one image are ready after similar times, images differ; the median is that of Borg."""
    engine = build()
    for number in range(36):
        deploy(engine, f"w{number}", 3, cpu="10m", readinessProbe={**PROBE, "periodSeconds": 1})
    engine.advance(engine.now + 400.0)
    delays = {
        app: [pod.ready_at - pod.container_since for pod in pods(engine, app)]
        for app in (f"w{number}" for number in range(36))
    }
    means = sorted(sum(each) / 3 for each in delays.values())
    assert 3.0 <= means[18] <= 9.0
    assert means[-1] > 3.0 * means[0]
    assert all(max(each) <= 2.5 * min(each) + 1.0 for each in delays.values())


def test_a_cold_service_wants_more(build: Build) -> None:
    """Shortly after its start a pod uses more CPU than when warm, by at most the set ratio."""
    used = []
    for ratio in (1.0, 1.5):
        engine = build(warm_cpu_ratio=ratio, warm_mean_seconds=600.0)
        for number in range(20):
            deploy(engine, f"w{number}")
        engine.advance(engine.now + 150.0)
        used.append(float(engine.usage["cpu_now"][engine.usage.rows()].sum()))

    assert 1.05 * used[0] < used[1] <= 1.5 * used[0]


def test_probes_fail_under_load_and_recover(build: Build) -> None:
    """An overloaded pod is unready after its tries and ready again when it gets its CPU."""
    engine = build(cores=4)
    deploy(engine, "web", cpu="1", readinessProbe=PROBE)
    engine.advance(engine.now + 60.0)
    assert pods(engine, "web")[0].ready
    hog = {"cpu": "100m", "memory": "64Mi"}
    notes = {"foresail.dev/cpu-usage-ratio": "100", "foresail.dev/work-seconds": "60"}
    container = {"name": "c", "image": "hog:1", "resources": {"requests": hog}}
    spec = {"containers": [container], "restartPolicy": "Never"}
    engine.store.create(
        "pods", "default", {"metadata": {"name": "hog", "annotations": notes}, "spec": spec}
    )
    engine.advance(engine.now + 120.0)
    assert not pods(engine, "web")[0].ready
    assert reasons(engine)["Unhealthy"] == 1
    engine.advance(engine.now + 600.0)
    assert pods(engine, "web")[0].ready
    assert pods(engine, "web")[0].restart_count == 0


def test_a_silent_container_is_killed_by_its_liveness_probe(build: Build) -> None:
    """Under lasting overload the kubelet restarts what has a liveness probe, and nothing else."""
    engine = build(cores=2)
    deploy(engine, "live", cpu="1", livenessProbe=PROBE)
    deploy(engine, "plain", cpu="100m")
    notes = {"foresail.dev/cpu-usage-ratio": "100", "foresail.dev/work-seconds": "100000"}
    container = {
        "name": "c",
        "image": "hog:1",
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    spec = {"containers": [container], "restartPolicy": "Never"}
    engine.store.create(
        "pods", "default", {"metadata": {"name": "hog", "annotations": notes}, "spec": spec}
    )
    engine.advance(engine.now + 400.0)

    assert pods(engine, "live")[0].restart_count >= 1
    assert pods(engine, "plain")[0].restart_count == 0


def test_without_weather_nothing_of_it_happens(build: Build) -> None:
    """Off is off, however wild the settings: no crash, no leak, probes answer after a second."""
    engine = build(
        weather="off", pod_crashes_per_day=1e4, leaking_ratio=1.0, image_outbreaks_per_year=1e6
    )
    deploy(engine, "web", 5, readinessProbe={**PROBE, "periodSeconds": 1})
    engine.advance(engine.now + 3_600.0)

    assert all(pod.restart_count == 0 and pod.ready for pod in pods(engine))
    assert all(pod.ready_at - pod.container_since == pytest.approx(1.0) for pod in pods(engine))
    assert not engine.usage["leak"].any()
