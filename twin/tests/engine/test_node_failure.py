"""Machines that fail, what the cluster notices, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.config import TwinConfig
from twin.engine import Engine
from twin.errors import ApiError
from twin.records import PodRecord
from twin.workloads.arrival import NodeShape

Build = Callable[..., dict[str, Any]]
GIB = 2**30


def ready(engine: Engine, node: str) -> str:
    """Return the status of a node's Ready condition."""
    conditions = engine.store.get("nodes", "", node)["status"]["conditions"]
    return next(str(c["status"]) for c in conditions if c["type"] == "Ready")


def test_a_failed_node_is_noticed_tainted_and_left(engine: Engine, deployment: Build) -> None:
    """NotReady after 50 s, replacements after 300 s more, and the lost pod hangs until recovery."""
    engine.store.create("deployments", "default", deployment("web", 1))
    engine.advance(engine.now + 30)
    (lost,) = engine.store.list("pods", "default")
    node, name = lost["spec"]["nodeName"], lost["metadata"]["name"]
    failed_at = engine.now
    engine.fail_node(node, 1_000.0)
    engine.advance(failed_at + 49.9)
    assert ready(engine, node) == "True"
    engine.advance(failed_at + 50.1)
    assert ready(engine, node) == "Unknown"
    taints = engine.store.get("nodes", "", node)["spec"]["taints"]
    assert {t["effect"] for t in taints} == {"NoSchedule", "NoExecute"}
    engine.advance(failed_at + 349.9)
    assert engine.store.count("pods") == 1
    engine.advance(failed_at + 370)

    actual = {obj["metadata"]["name"]: obj for obj in engine.store.list("pods", "default")}
    assert "deletionTimestamp" in actual.pop(name)["metadata"]
    (replacement,) = actual.values()
    assert replacement["spec"]["nodeName"] != node
    engine.advance(failed_at + 1_010)
    assert ready(engine, node) == "True"
    assert "taints" not in engine.store.get("nodes", "", node)["spec"]
    assert engine.store.find("pods", "default", name) is None


def test_a_short_failure_restarts_containers(engine: Engine, pod: Build) -> None:
    """A machine back within 50 s was never NotReady, but its containers were lost."""
    engine.store.create("pods", "default", pod("a"))
    engine.advance(engine.now + 30)
    record = engine.store.record("pods", "default", "a")
    assert isinstance(record, PodRecord)
    engine.fail_node(record.node_name, 20.0)
    engine.advance(engine.now + 60)

    assert ready(engine, record.node_name) == "True"
    assert (record.restart_count, record.phase, record.ready) == (1, "Running", True)


def test_no_execute_taints_evict_who_does_not_tolerate(engine: Engine, pod: Build) -> None:
    """A user's NoExecute taint removes a plain pod at once and spares a tolerant one."""
    toleration = {"key": "fire", "operator": "Exists"}
    select = {"kubernetes.io/hostname": "n0"}
    engine.store.create("pods", "default", pod("plain", nodeSelector=select))
    engine.store.create(
        "pods", "default", pod("tough", nodeSelector=select, tolerations=[toleration])
    )
    engine.advance(engine.now + 30)
    node = engine.store.get("nodes", "", "n0")
    taints = [{"key": "fire", "effect": "NoExecute"}]
    engine.store.replace("nodes", "", "n0", {**node, "spec": {**node["spec"], "taints": taints}})
    engine.advance(engine.now + 40)

    assert [o["metadata"]["name"] for o in engine.store.list("pods", "default")] == ["tough"]


def test_failing_an_unknown_node_is_404(engine: Engine) -> None:
    """A name that is no node is refused."""
    with pytest.raises(ApiError) as caught:
        engine.fail_node("n9", 10.0)

    assert caught.value.status == 404


def test_random_failures_come_at_the_rate_asked_for() -> None:
    """20 nodes at one failure a day each fail about 20 times a day."""
    engine = Engine(TwinConfig(node_failures_per_day=1.0, node_repair_seconds=60.0), seed=4)
    engine.add_nodes([NodeShape(f"n{i}", 1_000, GIB, 0, {}) for i in range(20)])
    down: set[tuple[str, float]] = set()
    for _ in range(24 * 60):
        engine.advance(engine.now + 60)
        down |= set(engine.world.down.items())

    assert 5 <= len(down) <= 40


def test_a_held_pod_of_a_dead_node_goes_with_its_finalizer(engine: Engine, pod: Build) -> None:
    """Deleted with grace 0 it waits for its finalizer only: nobody on the machine has to confirm."""
    made = pod("p")
    made["metadata"]["finalizers"] = ["example.com/hold"]
    engine.store.create("pods", "default", made)
    engine.advance(engine.now + 30)
    engine.fail_node(engine.store.get("pods", "default", "p")["spec"]["nodeName"], 1_000.0)
    engine.advance(engine.now + 60)
    engine.store.delete("pods", "default", "p", grace_period_seconds=0)
    engine.advance(engine.now + 5)
    held = engine.store.get("pods", "default", "p")
    held["metadata"].pop("finalizers")
    engine.store.replace("pods", "default", "p", held)
    engine.advance(engine.now + 5)

    assert list(engine.store.list("pods", "default")) == []
