"""Memory that runs out: whom the kernel takes, and what kubelets do before it comes to that."""

from __future__ import annotations

from collections.abc import Callable

from twin.behaviour.memory_pressure import TAINT
from twin.behaviour.pod_work import USAGE_WINDOWS
from twin.config.behaviour import MemoryConfig
from twin.engine import Engine
from twin.records import NodeRecord, PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]
KERNEL_ALONE = MemoryConfig(pressure_evictions=False)
USES = "foresail.dev/memory-usage-ratio"


def killed_pods(engine: Engine) -> list[str]:
    """Return the pods that were OOM-killed, in order of the first time."""
    events = [event for event in engine.store.list("events") if event["reason"] == "OOMKilling"]
    events.sort(key=lambda event: event["metadata"]["creationTimestamp"])
    return [event["involvedObject"]["name"] for event in events]


def fill_node(build: Build, create: Create) -> Engine:
    """Fill a node of 8 GiB with pods of each class that want 9 GiB together."""
    engine = build(memory=KERNEL_ALONE)
    limits = {"cpu": "1", "memory": "3Gi"}
    create(engine, "guaranteed", memory="3Gi", limits=limits, notes={USES: "0.9"})
    create(engine, "small-request", "100m", "100Mi", notes={USES: "20"})
    create(engine, "large-request", "100m", "4Gi", notes={USES: "1"})
    return engine


def test_the_highest_oom_score_goes_first(build: Build, create: Create) -> None:
    """Of two Burstable pods the one with the smaller request is killed, Guaranteed pods are not."""
    engine = fill_node(build, create)
    engine.advance(engine.now + 900)

    assert set(killed_pods(engine)) == {"small-request"}


def test_best_effort_goes_before_pods_that_use_what_they_asked_for(
    build: Build, create: Create
) -> None:
    """A BestEffort pod of 1 GiB is killed before Burstable ones that use 2.5 GiB of as much."""
    engine = build(memory=KERNEL_ALONE)
    limits = {"cpu": "1", "memory": "3Gi"}
    create(engine, "guaranteed", memory="3Gi", limits=limits, notes={USES: "0.9"})
    create(engine, "burstable-1", "100m", "2560Mi", notes={USES: "1"})
    create(engine, "burstable-2", "100m", "2560Mi", notes={USES: "1"})
    create(engine, "best-effort", "", "", notes={USAGE_WINDOWS: "60:1:16"})
    engine.advance(engine.now + 900)

    assert set(killed_pods(engine)) == {"best-effort"}


def test_a_node_short_of_memory_evicts(build: Build, create: Create) -> None:
    """Slow growth is met by eviction: Failed, Evicted, a condition and a taint, gone after 5 min."""
    engine = build()
    create(engine, "modest", memory="4Gi", notes={USES: "0.9"}, priorityClassName="")
    greedy = create(engine, "greedy", memory="3Gi", notes={USES: "1.5"})
    for _ in range(120):
        engine.advance(engine.now + 15)
        if greedy.phase == "Failed":
            break
    node = engine.store.record("nodes", "", "n0")
    assert isinstance(node, NodeRecord)
    status = engine.store.get("pods", "default", "greedy")["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Evicted")
    assert status["message"].startswith(
        "The node was low on resource: memory. Threshold quantity: "
    )
    disrupted = [c for c in status["conditions"] if c["type"] == "DisruptionTarget"]
    assert [c["reason"] for c in disrupted] == ["TerminationByKubelet"]
    assert node.memory_pressure
    assert TAINT in {taint["key"] for taint in node.taints}
    engine.advance(engine.now + 330)

    assert not node.memory_pressure
    assert TAINT not in {taint["key"] for taint in node.taints}
    assert engine.store.record("pods", "default", "modest").state()["phase"] == "Running"


def test_without_evictions_nothing_is_evicted(build: Build, create: Create) -> None:
    """The behaviour can be switched off: the same node then has no pressure."""
    engine = build(memory=KERNEL_ALONE)
    create(engine, "modest", memory="4Gi", notes={USES: "0.9"})
    greedy = create(engine, "greedy", memory="3Gi", notes={USES: "1.5"})
    engine.advance(engine.now + 1_800)

    assert greedy.reason == ""
    assert not engine.store.record("nodes", "", "n0").state()["memory_pressure"]
