"""Objects, versions and changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.engine import Engine
from twin.errors import ApiError
from twin.store import Store

Build = Callable[..., dict[str, Any]]


def test_each_commit_raises_the_one_version(engine: Engine, pod: Build) -> None:
    """Two writes of different kinds get two consecutive versions of one counter."""
    before = engine.store.resource_version
    first = engine.store.create("pods", "default", pod("a"))
    second = engine.store.create("configmaps", "default", {"metadata": {"name": "c"}})

    assert [first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]] == [
        str(before + 1),
        str(before + 2),
    ]


def test_a_dry_run_leaves_no_trace(engine: Engine, pod: Build) -> None:
    """A dry create and a dry delete answer with objects and change nothing at all."""
    engine.store.create("pods", "default", pod("kept"))
    before = engine.state_hash()
    made = engine.store.create("pods", "default", pod("a"), dry_run=True)
    engine.store.delete("pods", "default", "kept", dry_run=True)

    assert made["spec"]["terminationGracePeriodSeconds"] == 30
    assert engine.state_hash() == before


def test_lists_are_in_order_and_by_namespace(engine: Engine, pod: Build) -> None:
    """A list is sorted by (namespace, name) and a namespaced one holds only its own."""
    for namespace, name in (("kube-system", "a"), ("default", "c"), ("default", "b")):
        engine.store.create("pods", namespace, pod(name))

    names = [obj["metadata"]["name"] for obj in engine.store.list("pods")]
    assert names == ["b", "c", "a"]
    assert [o["metadata"]["name"] for o in engine.store.list("pods", "kube-system")] == ["a"]


def test_changes_resume_and_are_gone_when_the_log_is_short() -> None:
    """Changes after a version come in order; a version before the kept ones is 410."""
    store = Store(lambda: 0.0, log_size=8)
    store.create("namespaces", "", {"metadata": {"name": "default"}})
    start = store.resource_version
    for index in range(4):
        store.create("configmaps", "default", {"metadata": {"name": f"c{index}"}})
    names = [change.name for change in store.changes("configmaps", None, start + 1)]
    for index in range(4, 30):
        store.create("configmaps", "default", {"metadata": {"name": f"c{index}"}})

    assert names == ["c1", "c2", "c3"]
    with pytest.raises(ApiError) as caught:
        store.changes("configmaps", None, start)
    assert (caught.value.status, caught.value.reason) == (410, "Expired")
    assert len(store.changes("configmaps", None, store.resource_version - 2)) == 2


def test_a_change_shows_the_object_as_it_was(engine: Engine, pod: Build) -> None:
    """A change read later still shows its own moment, and says which labels it came from."""
    made = engine.store.create("pods", "default", pod("a", labels={"x": "1"}))
    since = engine.store.resource_version
    made["metadata"]["labels"] = {"x": "2"}
    engine.store.replace("pods", "default", "a", made)
    engine.store.delete("pods", "default", "a")
    modified, deleted = engine.store.changes("pods", "default", since)

    assert (modified.type, deleted.type) == ("MODIFIED", "DELETED")
    assert modified.previous_labels == {"x": "1"}
    assert modified.object["metadata"]["labels"] == {"x": "2"}


def test_generated_names_differ_and_follow_the_seed(pod: Build) -> None:
    """generateName gives a new five-letter suffix each time, and the same ones for a seed."""

    def names() -> list[str]:
        engine = Engine(seed=5)
        obj = pod("x")
        obj["metadata"] = {"generateName": "web-"}
        return [engine.store.create("pods", "default", obj)["metadata"]["name"] for _ in range(3)]

    first = names()
    assert first == names()
    assert len(set(first)) == 3
    assert all(len(name) == len("web-") + 5 for name in first)


def test_what_one_pod_without_annotations_gets_no_other_gets(engine: Engine, pod: Build) -> None:
    """Objects without annotations share the empty ones; a write to one leaves the others alone."""
    first, second = (engine.store.create("pods", "default", pod(name)) for name in ("a", "b"))
    shared = engine.store.record("pods", "default", "a").annotations
    first["metadata"]["annotations"] = {"note": "mine"}
    engine.store.replace("pods", "default", "a", first)

    assert shared is engine.store.record("pods", "default", "b").annotations
    assert engine.store.record("pods", "default", "a").annotations == {"note": "mine"}
    assert engine.store.get("pods", "default", "b")["metadata"] == second["metadata"]
