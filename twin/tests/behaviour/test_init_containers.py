"""Init containers run before the others, and the pod says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twin.engine import Engine
from twin.records import PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]


def initialized_condition(engine: Engine, name: str) -> dict[str, Any]:
    """Return a pod's Initialized condition."""
    conditions = engine.store.get("pods", "default", name)["status"]["conditions"]
    return next(condition for condition in conditions if condition["type"] == "Initialized")


def test_init_containers_delay_the_start_and_show_it(build: Build, create: Create) -> None:
    """Two of them take two seconds; Initialized is false until the pod's own containers run."""
    engine = build(start_median_seconds=0.001, pull_bytes_per_second=1e12)
    plain = create(engine, "plain")
    inits = [{"name": f"i{i}", "image": "app:1"} for i in range(2)]
    pod = create(engine, "a", initContainers=inits)
    engine.advance(engine.now + 1)
    early = initialized_condition(engine, "a")
    assert (early["status"], early["reason"]) == ("False", "ContainersNotInitialized")
    assert early["message"] == "containers with incomplete status: [i0 i1]"
    statuses = engine.store.get("pods", "default", "a")["status"]["initContainerStatuses"]
    assert [status["state"]["waiting"]["reason"] for status in statuses] == ["PodInitializing"] * 2
    engine.advance(engine.now + 10)

    assert initialized_condition(engine, "a")["status"] == "True"
    assert 1.9 < pod.container_since - plain.container_since < 2.3
    statuses = engine.store.get("pods", "default", "a")["status"]["initContainerStatuses"]
    assert [status["state"]["terminated"]["exitCode"] for status in statuses] == [0, 0]
    assert "initContainerStatuses" not in engine.store.get("pods", "default", "plain")["status"]


def test_a_node_that_is_made_anew_takes_its_pods_over(build: Build, create: Create) -> None:
    """Pods of a deleted node run again when a node of that name appears in time."""
    engine = build()
    pod = create(engine, "a")
    engine.advance(engine.now + 30)
    node = engine.store.get("nodes", "", "n0")
    engine.store.delete("nodes", "", "n0")
    engine.advance(engine.now + 10)
    status = {"allocatable": node["status"]["allocatable"]}
    engine.store.create("nodes", "", {"metadata": {"name": "n0"}, "status": status})
    engine.advance(engine.now + 60)

    assert (pod.phase, pod.restart_count) == ("Running", 1)
    assert pod.uid in engine.usage.row_of
