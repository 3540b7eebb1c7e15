"""Snapshots show any kept version again, and bytes are what rendering says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.engine import Engine
from twin.errors import ApiError
from twin.render import render
from twin.render.pieces import item_bytes, object_bytes
from twin.snapshot import Key, ResourceSnapshot
from twin.store import Store
from twin.workloads import open_workload

NAMES = ("a", "b", "c", "d", "e")
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "delete"]), st.sampled_from(["x", "y"]), st.sampled_from(NAMES)
    ),
    max_size=30,
)


def _store() -> Store:
    store = Store(lambda: 0.0)
    for name in ("x", "y"):
        store.create("namespaces", "", {"metadata": {"name": name}})
    return store


def _act(store: Store, step: tuple[str, str, str], number: int) -> None:
    verb, namespace, name = step
    found = store.find("configmaps", namespace, name)
    if verb == "delete":
        if found is not None:
            store.delete("configmaps", namespace, name)
        return
    body = {"metadata": {"name": name}, "data": {"n": str(number)}}
    if found is None:
        store.create("configmaps", namespace, body)
    else:
        store.replace("configmaps", namespace, name, body)


def _walk(snapshot: ResourceSnapshot, size: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: Key | None = None
    while batch := snapshot.batch(after, size):
        assert snapshot.count(after) >= len(batch)
        after = batch[-1].key
        found += [render("configmaps", record) for record in batch]
    assert snapshot.count(after) == 0
    return found


@settings(max_examples=60, deadline=None)
@given(steps=STEPS, size=st.integers(1, 4), namespace=st.sampled_from([None, "x", "y"]))
def test_every_version_can_be_shown_again(
    steps: list[tuple[str, str, str]], size: int, namespace: str | None
) -> None:
    """Whatever is written, the pages of each earlier version hold exactly what was there then."""
    store, then = _store(), {}
    for number, step in enumerate(steps):
        then[store.resource_version] = list(store.list("configmaps", namespace))
        _act(store, step, number)
    then[store.resource_version] = list(store.list("configmaps", namespace))
    for version, expected in then.items():
        assert _walk(store.snapshot("configmaps", namespace, version), size) == expected


@settings(max_examples=40, deadline=None)
@given(before=STEPS, during=STEPS)
def test_a_walk_is_not_disturbed_by_writes(
    before: list[tuple[str, str, str]], during: list[tuple[str, str, str]]
) -> None:
    """A snapshot that follows changes shows its version, also when each step of a walk is followed
    by a write.
    """
    store = _store()
    for number, step in enumerate(before):
        _act(store, step, number)
    expected = list(store.list("configmaps"))
    snapshot = store.snapshot("configmaps", None, store.resource_version)
    stop = store.subscribe(snapshot.follow)
    writes = iter(during)
    found: list[dict[str, Any]] = []
    after: Key | None = None
    while batch := snapshot.batch(after, 1):
        after = batch[-1].key
        found += [render("configmaps", record) for record in batch]
        step = next(writes, None)
        if step is not None:
            _act(store, step, 1_000)
    stop()
    assert found == expected


def test_a_version_beyond_the_log_is_refused() -> None:
    """A version whose changes are no longer kept is 410, never a list of something else."""
    store = Store(lambda: 0.0, log_size=4)
    store.create("namespaces", "", {"metadata": {"name": "x"}})
    since = store.resource_version
    for number in range(10):
        _act(store, ("put", "x", "a"), number)
    with pytest.raises(ApiError) as raised:
        store.snapshot("configmaps", None, since)
    assert raised.value.status == 410


def test_bytes_are_what_rendering_says() -> None:
    """Objects put together from kept pieces are byte for byte those that rendering gives."""
    engine = Engine(None, 3)
    workload = open_workload("openb", nodes=40, seed=3)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.advance(engine.now + 4_000)
    seen = 0
    for resource in ("pods", "nodes", "jobs", "deployments", "events"):
        for record in engine.store.records(resource):
            whole = render(resource, record)
            assert object_bytes(resource, record) == orjson.dumps(whole)
            bare = {
                name: value for name, value in whole.items() if name not in ("kind", "apiVersion")
            }
            assert item_bytes(resource, record) == orjson.dumps(bare)
            seen += resource == "pods"
    assert seen > 2


def test_kept_list_items_follow_every_change() -> None:
    """Whenever a cluster is looked at, in one life or after a restore, all is shown as it is now."""
    engine = Engine(None, 3)
    workload = open_workload("google2011", nodes=10, seed=3)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.fail_node(next(engine.store.records("nodes")).name, 300.0)
    changed, shown = Counter[str](), dict[str, bytes]()
    for moment in range(40):
        engine.advance(engine.now + 45.0)
        if moment == 20:
            other = engine.clone()
            engine.advance(engine.now + 300.0)
            engine = other
        for resource in ("pods", "nodes", "jobs", "deployments", "horizontalpodautoscalers"):
            for record in engine.store.records(resource):
                content = engine.store.items.item_bytes(resource, record)
                assert content == item_bytes(resource, record)
                changed[resource] += shown.get(record.uid, content) != content
                shown[record.uid] = content
    assert min(changed[resource] for resource in ("pods", "nodes", "jobs", "deployments")) > 1


def test_few_list_items_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger cluster costs no more memory than the bound, and is shown right all the same."""
    monkeypatch.setattr("twin.render.item_cache.MOST_ITEMS", 2)
    engine = Engine(None, 3)
    workload = open_workload("openb", nodes=10, seed=3)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    engine.advance(engine.now + 4_000.0)
    pods = list(engine.store.records("pods"))
    assert len(pods) > 2
    for record in (*pods, *pods):
        assert engine.store.items.item_bytes("pods", record) == item_bytes("pods", record)
        assert len(engine.store.items._items) <= 2
