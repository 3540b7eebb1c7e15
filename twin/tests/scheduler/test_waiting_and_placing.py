"""Where pods go, and what they are told when they go nowhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.engine import Engine
from twin.scheduling.sampling import sample_size
from twin.workloads.arrival import NodeShape

Build = Callable[..., dict[str, Any]]
GIB = 2**30


def status_of(engine: Engine, name: str) -> dict[str, Any]:
    """Return the status of a pod in the default namespace."""
    status: dict[str, Any] = engine.store.get("pods", "default", name)["status"]
    return status


def node_of(engine: Engine, name: str) -> str:
    """Return where a pod of the default namespace is bound, empty when nowhere."""
    return str(engine.store.get("pods", "default", name)["spec"].get("nodeName", ""))


@pytest.mark.parametrize(
    ("nodes", "sample"),
    [(10, 10), (99, 99), (100, 100), (250, 120), (1_000, 420), (5_000, 500), (10_000, 500)],
)
def test_the_sample_follows_the_documented_default(nodes: int, sample: int) -> None:
    """All below 100 nodes, else 50 % less one point per 125 nodes, at least 5 % and 100 nodes."""
    assert sample_size(nodes) == sample


def test_pods_spread_to_the_least_allocated_node(engine: Engine, pod: Build) -> None:
    """Three equal pods end on three nodes."""
    for name in "abc":
        engine.store.create("pods", "default", pod(name))
    engine.advance(engine.now + 1)

    assert {node_of(engine, name) for name in "abc"} == {"n0", "n1", "n2"}


def test_a_pod_that_is_too_big_says_why(engine: Engine, pod: Build) -> None:
    """The condition and the KubeEvent carry kube-scheduler's sentence."""
    engine.store.create("pods", "default", pod("big", cpu="5", memory="9Gi"))
    engine.advance(engine.now + 1)
    sentence = (
        "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient memory. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    condition = status_of(engine, "big")["conditions"][0]

    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert (condition["reason"], condition["message"]) == ("Unschedulable", sentence)
    events = [e for e in engine.store.list("events") if e["reason"] == "FailedScheduling"]
    assert [(e["type"], e["message"]) for e in events] == [("Warning", sentence)]


def test_each_rule_that_refuses_a_node_is_named(engine: Engine, pod: Build) -> None:
    """Cordon, taint and selector refuse one node each, with the real words."""
    for name, change in (
        ("n0", {"unschedulable": True}),
        ("n1", {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}),
    ):
        node = engine.store.get("nodes", "", name)
        engine.store.replace("nodes", "", name, {**node, "spec": {**node["spec"], **change}})
    engine.store.create("pods", "default", pod("a", nodeSelector={"disk": "ssd"}))
    engine.advance(engine.now + 1)

    assert status_of(engine, "a")["conditions"][0]["message"] == (
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) "
        "had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )


def test_a_pod_waits_for_room_and_then_goes(engine: Engine, pod: Build) -> None:
    """When a pod that fills a node goes, the waiting pod is bound within its back-off."""
    for name in "abc":
        engine.store.create("pods", "default", pod(name, cpu="4"))
    engine.advance(engine.now + 20)
    engine.store.create("pods", "default", pod("late", cpu="4"))
    engine.advance(engine.now + 100)
    assert node_of(engine, "late") == ""
    freed = node_of(engine, "b")
    engine.store.delete("pods", "default", "b", grace_period_seconds=0)
    engine.advance(engine.now + 11)

    assert node_of(engine, "late") == freed


def test_uncordoning_lets_waiting_pods_in(engine: Engine, pod: Build) -> None:
    """A node change wakes the pods that wait."""
    for name in ("n0", "n1", "n2"):
        node = engine.store.get("nodes", "", name)
        spec = {**node["spec"], "unschedulable": True}
        engine.store.replace("nodes", "", name, {**node, "spec": spec})
    engine.store.create("pods", "default", pod("a"))
    engine.advance(engine.now + 30)
    node = engine.store.get("nodes", "", "n1")
    spec = {k: v for k, v in node["spec"].items() if k != "unschedulable"}
    engine.store.replace("nodes", "", "n1", {**node, "spec": spec})
    engine.advance(engine.now + 11)

    assert node_of(engine, "a") == "n1"


def test_higher_priority_goes_first(engine: Engine, pod: Build) -> None:
    """With room for one, the pod of higher priority gets it though it came later."""
    engine.store.create("priorityclasses", "", {"metadata": {"name": "high"}, "value": 100})
    select = {"kubernetes.io/hostname": "n0"}
    engine.store.create("pods", "default", pod("low", cpu="3", nodeSelector=select))
    engine.store.create(
        "pods", "default", pod("high", cpu="3", nodeSelector=select, priorityClassName="high")
    )
    engine.advance(engine.now + 1)

    assert (node_of(engine, "high"), node_of(engine, "low")) == ("n0", "")


def test_gpus_are_whole_and_counted(pod: Build) -> None:
    """A node with two GPUs takes two one-GPU pods and refuses the third by name."""
    engine = Engine(seed=1)
    engine.add_nodes([NodeShape("g", 8_000, 16 * GIB, 2, {})])
    for name in "abc":
        obj = pod(name)
        obj["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
        engine.store.create("pods", "default", obj)
    engine.advance(engine.now + 1)
    waiting = [name for name in "abc" if not node_of(engine, name)]

    assert len(waiting) == 1
    assert (
        "1 Insufficient nvidia.com/gpu" in status_of(engine, waiting[0])["conditions"][0]["message"]
    )
