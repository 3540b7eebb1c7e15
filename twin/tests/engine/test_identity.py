"""Names and uids follow from an object's own place; no uid comes twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.engine import Engine
from twin.identity import ERA_SECONDS
from twin.workloads.arrival import NodeShape

GIB = 2**30
Build = Callable[..., dict[str, Any]]


def pods(engine: Engine) -> dict[str, str]:
    """Return the uid of each pod by name."""
    return {record.name: record.uid for record in engine.store.records("pods")}


def test_an_unrelated_write_changes_no_name_and_no_uid(pod: Build, deployment: Build) -> None:
    """Generated names and uids, of a client's pod and of a Deployment's, are those without it."""

    def live(*, other: bool) -> dict[str, str]:
        engine = Engine(seed=3)
        engine.add_nodes([NodeShape("n0", 8_000, 8 * GIB, 0, {})])
        if other:
            engine.store.create("configmaps", "default", {"metadata": {"name": "x"}})
        own = pod("x")
        own["metadata"] = {"generateName": "own-"}
        engine.store.create("pods", "default", own)
        engine.store.create("deployments", "default", deployment("web", 3))
        engine.advance(engine.now + 60.0)
        return pods(engine)

    assert live(other=False) == live(other=True)
    assert len(live(other=True)) == 4


def test_a_recreated_object_is_another_one(engine: Engine, pod: Build) -> None:
    """The same name again and again, also within one moment, has a new uid each time."""
    uids = []
    for _ in range(5):
        uids.append(engine.store.create("pods", "default", pod("a"))["metadata"]["uid"])
        engine.store.delete("pods", "default", "a", grace_period_seconds=0)

    assert len(set(uids)) == 5


def test_a_dry_run_counts_for_nothing(engine: Engine, pod: Build) -> None:
    """It shows the name and uid that come next, and the next write gets them."""
    obj = pod("x")
    obj["metadata"] = {"generateName": "own-"}
    before = engine.state_hash()
    dry = engine.store.create("pods", "default", obj, dry_run=True)["metadata"]
    assert before == engine.state_hash()
    made = engine.store.create("pods", "default", obj)["metadata"]

    assert (dry["name"], dry["uid"]) == (made["name"], made["uid"])


def test_replacements_are_counted_under_their_controller(engine: Engine, deployment: Build) -> None:
    """Deleting pods of one Deployment renames none of another's, whoever comes first."""
    other = engine.clone()
    for one, names in ((engine, ("a", "b")), (other, ("b", "a"))):
        for name in names:
            one.store.create("deployments", "default", deployment(name, 2))
            one.advance(one.now + 20.0)
        one.advance(one.now + 30.0)

    assert pods(engine) == pods(other)
    victim = next(iter(pods(engine)))
    before = pods(engine)
    engine.store.delete("pods", "default", victim, grace_period_seconds=0)
    engine.advance(engine.now + 30.0)
    assert len(pods(engine).keys() - before.keys()) == 1
    assert set(pods(engine).values()).isdisjoint({before[victim]})


def test_daemon_pods_belong_to_their_nodes(deployment: Build) -> None:
    """A node that joined earlier or later gets the same daemon pod."""

    def live(names: list[str]) -> dict[str, str]:
        engine = Engine(seed=1)
        daemon = deployment("d", 1)
        del daemon["spec"]["replicas"]
        engine.store.create("daemonsets", "default", daemon)
        for name in names:
            engine.add_nodes([NodeShape(name, 8_000, 8 * GIB, 0, {})])
            engine.advance(engine.now + 20.0)
        return {pod.node_name: pod.name for pod in engine.store.records("pods")}  # type: ignore[attr-defined]

    assert live(["x", "y", "z"]) == live(["z", "x", "y"])
    assert len(live(["x", "y"])) == 2


def test_an_owner_that_is_not_there_gives_no_identity(engine: Engine, pod: Build) -> None:
    """A reference to an owner that is gone, or never was, may be written again and again."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    uids = []
    for _ in range(3):
        obj = pod("a")
        obj["metadata"]["ownerReferences"] = [owner]
        uids.append(engine.store.create("pods", "default", obj)["metadata"]["uid"])
        engine.store.delete("pods", "default", "a", grace_period_seconds=0)

    assert len(set(uids)) == 3
    assert set(engine.store._identities._counts) == {""}


@pytest.mark.parametrize("eras", [1, 3])
def test_counts_of_names_are_dropped_after_a_while(engine: Engine, pod: Build, eras: int) -> None:
    """What is remembered about names that are gone has an end, and uids stay unique over it."""
    engine.store.create("pods", "default", pod("a"))
    first = engine.store.delete("pods", "default", "a", grace_period_seconds=0)["metadata"]["uid"]
    assert len(engine.store._identities._counts[""]) == 1
    engine.clock.now += eras * ERA_SECONDS
    again = engine.store.create("pods", "default", pod("a"))["metadata"]["uid"]

    assert first != again
    assert engine.store._identities._counts[""] == {}


def test_owners_take_their_counts_with_them(engine: Engine, deployment: Build) -> None:
    """After a Deployment has gone, nothing is remembered under its uid or its ReplicaSet's."""
    engine.store.create("deployments", "default", deployment("web", 2))
    engine.advance(engine.now + 30.0)
    assert len(engine.store._identities._counts) == 3
    engine.store.delete("deployments", "default", "web")
    engine.advance(engine.now + 60.0)

    assert set(engine.store._identities._counts) == {""}
