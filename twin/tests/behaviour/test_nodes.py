"""Signs of life, graceful ends, and pods whose node is gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from twin.config.behaviour import MachineConfig
from twin.engine import Engine
from twin.records import NodeRecord, ObjectRecord, PodRecord

Build = Callable[..., Engine]
Create = Callable[..., PodRecord]


def noticed_after(engine: Engine, name: str) -> float:
    """Fail a node now and return the seconds until it is not Ready."""
    node = engine.store.record("nodes", "", name)
    assert isinstance(node, NodeRecord)
    failed_at = engine.now
    engine.fail_node(name, 600.0)
    while node.ready_status == "True":
        engine.advance(engine.now + 0.25)
    return engine.now - failed_at


def test_a_failure_is_noticed_40_to_55_seconds_later(build: Build) -> None:
    """50 s after the last sign of life, which was up to 10 s ago, at a look every 5 s."""
    engine = build(40)
    took = []
    for number in range(40):
        engine.advance(engine.now + 61.3)
        took.append(noticed_after(engine, f"n{number}"))

    assert 40.0 <= min(took) < 44.0
    assert 51.0 < max(took) <= 55.3


def test_without_periods_it_takes_the_grace_exactly(build: Build) -> None:
    """With both periods switched off the grace alone counts."""
    engine = build(machines=MachineConfig(status_seconds=0.0, monitor_seconds=0.0))
    engine.advance(engine.now + 3.0)

    assert noticed_after(engine, "n0") == pytest.approx(50.0, abs=0.25)


def test_the_heartbeat_shown_is_the_last_sign(build: Build) -> None:
    """A node that is NotReady shows when it was last heard of, before it failed."""
    engine = build()
    engine.advance(engine.now + 100.0)
    failed_at = engine.now
    noticed_after(engine, "n0")
    node = engine.store.record("nodes", "", "n0")
    assert isinstance(node, NodeRecord)

    assert failed_at - 10.0 <= node.heartbeat_at <= failed_at


def registrations(engine: Engine) -> list[tuple[float, str, str]]:
    """Return when, why and what the node controller reported of nodes that came and went."""
    return [
        (
            event.created_at - engine.config.start_time,
            event.body["reason"],
            event.body["message"],
        )
        for event in engine.store.records("events")
        if isinstance(event, ObjectRecord)
        and event.body["reason"] in ("RegisteredNode", "RemovingNode")
    ]


def test_nodes_that_come_and_go_are_reported(build: Build) -> None:
    """At the node controller's next look, every 5 s, with the uid of the node that it saw."""
    engine = build(1)
    uid = engine.store.record("nodes", "", "n0").uid
    engine.advance(engine.now + 11.0)
    engine.store.delete("nodes", "", "n0")
    engine.store.create("nodes", "", {"metadata": {"name": "late"}})
    engine.advance(engine.now + 3.9)
    assert len(registrations(engine)) == 1
    engine.advance(engine.now + 0.1)

    assert sorted(registrations(engine)) == [
        (0.0, "RegisteredNode", "Node n0 event: Registered Node n0 in Controller"),
        (15.0, "RegisteredNode", "Node late event: Registered Node late in Controller"),
        (15.0, "RemovingNode", "Node n0 event: Removing Node n0 from Controller"),
    ]
    removed = next(
        event.body
        for event in engine.store.records("events")
        if isinstance(event, ObjectRecord) and event.body["reason"] == "RemovingNode"
    )
    assert (removed["involvedObject"]["uid"], removed["type"]) == (uid, "Normal")
    assert removed["source"] == {"component": "node-controller"}


def test_what_comes_and_goes_between_two_looks_is_not_reported(build: Build) -> None:
    """Nor is a node that is made anew under its name: nodes are compared by name."""
    engine = build(1)
    engine.advance(engine.now + 11.0)
    engine.store.create("nodes", "", {"metadata": {"name": "brief"}})
    engine.store.delete("nodes", "", "brief")
    engine.store.delete("nodes", "", "n0")
    engine.store.create("nodes", "", {"metadata": {"name": "n0"}})
    engine.advance(engine.now + 30.0)

    assert len(registrations(engine)) == 1


def test_pods_of_a_deleted_node_are_collected(build: Build, create: Create) -> None:
    """After 40 s pods on a node that does not exist are gone; their work stopped with it."""
    engine = build(2)
    create(engine, "a", nodeName="n0")
    create(engine, "b", nodeName="n1")
    engine.advance(engine.now + 30)
    engine.store.delete("nodes", "", "n0")
    assert len(engine.usage.row_of) == 1
    engine.advance(engine.now + 39)
    assert engine.store.count("pods") == 2
    engine.advance(engine.now + 2)

    assert [pod.name for pod in engine.store.records("pods")] == ["b"]


def test_a_spot_notice_of_a_deleted_node_is_void(build: Build) -> None:
    """A node that is made anew under the same name is another machine and stays."""
    engine = build()
    node = engine.store.get("nodes", "", "n0")
    engine.spot.reclaim("n0", 60.0)
    engine.spot.reclaim("n0", 10.0)
    engine.advance(engine.now + 30)
    engine.store.delete("nodes", "", "n0")
    status = {"allocatable": node["status"]["allocatable"]}
    engine.store.create("nodes", "", {"metadata": {"name": "n0"}, "status": status})
    engine.advance(engine.now + 300)

    assert engine.world.up("n0")
