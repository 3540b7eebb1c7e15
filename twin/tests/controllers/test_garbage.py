"""Deletion: cascades in three ways, owners that block, and namespaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twin.errors import ApiError

Object = dict[str, Any]
Build = Callable[..., Object]


def kinds(cluster: Any) -> tuple[int, int, int]:
    """Return how many Deployments, ReplicaSets and pods there are."""
    store = cluster.engine.store
    return store.count("deployments"), store.count("replicasets"), store.count("pods")


def create_owned(cluster: Any, name: str, owner: Object, **reference: Any) -> None:
    """Create a ConfigMap that belongs to another object."""
    head = owner["metadata"]
    entry = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": head["name"],
        "uid": head["uid"],
        **reference,
    }
    obj = {"metadata": {"name": name, "ownerReferences": [entry]}}
    cluster.engine.store.create("configmaps", "default", obj)


def test_foreground_takes_the_leaves_first(cluster: Any, workload: Build) -> None:
    """Pods go before their ReplicaSet, and that before the Deployment."""
    cluster.create("deployments", "web", workload("web", 2))
    cluster.run(30)
    cluster.delete("deployments", "web", propagation="Foreground")
    steps: list[tuple[int, int, int]] = []

    def look() -> None:
        if not steps or steps[-1] != kinds(cluster):
            steps.append(kinds(cluster))

    cluster.watch(20, look)

    assert steps[0] == (1, 1, 2)
    assert steps[-1] == (0, 0, 0)
    assert all(sets >= bool(pods) and top >= bool(sets) for top, sets, pods in steps)


def test_background_takes_the_owner_first(cluster: Any, workload: Build) -> None:
    """The Deployment is gone at once; what belonged to it follows."""
    cluster.create("deployments", "web", workload("web", 2))
    cluster.run(30)
    cluster.delete("deployments", "web")
    assert kinds(cluster)[0] == 0
    cluster.run(30)

    assert kinds(cluster) == (0, 0, 0)


def test_orphans_stay_and_can_be_adopted_by_nobody(cluster: Any, workload: Build) -> None:
    """Orphaning leaves the ReplicaSet running without an owner."""
    cluster.create("deployments", "web", workload("web", 2))
    cluster.run(30)
    cluster.delete("deployments", "web", propagation="Orphan")
    cluster.run(30)
    (left,) = cluster.engine.store.list("replicasets", "default")

    assert kinds(cluster) == (0, 1, 2)
    assert "ownerReferences" not in left["metadata"]


@pytest.mark.parametrize(("blocks", "waits"), [(True, True), (False, False)])
def test_only_blocking_dependents_are_waited_for(cluster: Any, blocks: bool, waits: bool) -> None:
    """A dependent with a finalizer holds its owner only with blockOwnerDeletion."""
    store = cluster.engine.store
    owner = store.create("configmaps", "default", {"metadata": {"name": "owner"}})
    create_owned(cluster, "child", owner, blockOwnerDeletion=blocks)
    child = store.get("configmaps", "default", "child")
    held = {**child, "metadata": {**child["metadata"], "finalizers": ["example.com/hold"]}}
    store.replace("configmaps", "default", "child", held)
    cluster.delete("configmaps", "owner", propagation="Foreground")
    cluster.run(5)

    assert (store.find("configmaps", "default", "owner") is not None) is waits
    assert store.find("configmaps", "default", "child") is not None


def test_a_second_owner_keeps_an_object(cluster: Any) -> None:
    """Only the last owner takes its dependents along; the reference to the first is dropped."""
    store = cluster.engine.store
    one = store.create("configmaps", "default", {"metadata": {"name": "one"}})
    create_owned(cluster, "child", one)
    two = store.create("secrets", "default", {"metadata": {"name": "two"}})
    child = store.get("configmaps", "default", "child")
    entry = {"apiVersion": "v1", "kind": "Secret", "name": "two", "uid": two["metadata"]["uid"]}
    both = [*child["metadata"]["ownerReferences"], entry]
    new = {**child, "metadata": {**child["metadata"], "ownerReferences": both}}
    store.replace("configmaps", "default", "child", new)
    cluster.delete("configmaps", "one")
    cluster.run(5)
    left = store.get("configmaps", "default", "child")["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in left] == ["two"]
    cluster.delete("secrets", "two")
    cluster.run(5)

    assert store.find("configmaps", "default", "child") is None


def test_an_object_of_a_dead_owner_goes(cluster: Any) -> None:
    """What is made for an owner that no longer exists is collected."""
    store = cluster.engine.store
    owner = store.create("configmaps", "default", {"metadata": {"name": "owner"}})
    cluster.delete("configmaps", "owner")
    create_owned(cluster, "late", owner)
    cluster.run(1)

    assert store.find("configmaps", "default", "late") is None


def test_a_namesake_of_an_owner_is_no_owner(cluster: Any) -> None:
    """What belonged to an object goes with it, although another of its name has come."""
    store = cluster.engine.store
    owner = store.create("configmaps", "default", {"metadata": {"name": "owner"}})
    cluster.delete("configmaps", "owner")
    store.create("configmaps", "default", {"metadata": {"name": "owner"}})
    create_owned(cluster, "late", owner)
    cluster.run(5)

    assert store.find("configmaps", "default", "late") is None


def test_a_second_owner_that_is_gone_keeps_nothing(cluster: Any) -> None:
    """References to owners that do not exist do not hold an object when its last owner goes."""
    store = cluster.engine.store
    gone = store.create("secrets", "default", {"metadata": {"name": "gone"}})
    one = store.create("configmaps", "default", {"metadata": {"name": "one"}})
    cluster.delete("secrets", "gone")
    cluster.run(5)
    create_owned(cluster, "child", one)
    child = store.get("configmaps", "default", "child")
    entry = {"apiVersion": "v1", "kind": "Secret", "name": "gone", "uid": gone["metadata"]["uid"]}
    both = [*child["metadata"]["ownerReferences"], entry]
    new = {**child, "metadata": {**child["metadata"], "ownerReferences": both}}
    store.replace("configmaps", "default", "child", new)
    cluster.delete("configmaps", "one")
    cluster.run(5)

    assert store.find("configmaps", "default", "child") is None


def test_a_namespace_goes_when_it_is_empty(cluster: Any, workload: Build) -> None:
    """Terminating refuses new objects at once; pods go after 5 s, the rest after them, and then it is gone."""
    store = cluster.engine.store
    store.create("namespaces", "", {"metadata": {"name": "team"}})
    obj = {"metadata": {"name": "web"}, "spec": workload("web", 2)}
    store.create("deployments", "team", obj)
    cluster.run(30)
    store.delete("namespaces", "", "team")
    cluster.run(4.9)
    assert store.get("namespaces", "", "team")["status"] == {"phase": "Terminating"}
    assert not any(pod.deletion_at for pod in store.records("pods", "team"))
    cluster.run(0.2)
    assert all(pod.deletion_at for pod in store.records("pods", "team"))
    assert store.find("deployments", "team", "web") is not None
    with pytest.raises(ApiError, match="because it is being terminated"):
        store.create("configmaps", "team", {"metadata": {"name": "late"}})
    cluster.run(60)

    assert store.find("namespaces", "", "team") is None
    names = ("deployments", "replicasets", "pods", "events")
    assert [sum(1 for _ in store.records(kind, "team")) for kind in names] == [0, 0, 0, 0]


def test_a_finalizer_holds_a_namespace(cluster: Any) -> None:
    """The condition names the finalizer; removing it lets the namespace go."""
    store = cluster.engine.store
    store.create("namespaces", "", {"metadata": {"name": "team"}})
    held = {"metadata": {"name": "c", "finalizers": ["example.com/hold"]}}
    store.create("configmaps", "team", held)
    store.delete("namespaces", "", "team")
    cluster.run(6)
    entries = store.get("namespaces", "", "team")["status"]["conditions"]
    actual = {entry["type"]: entry["message"] for entry in entries}
    assert "example.com/hold in 1 resource instances" in actual["NamespaceFinalizersRemaining"]
    obj = store.get("configmaps", "team", "c")
    free = {**obj, "metadata": {**obj["metadata"], "finalizers": []}}
    store.replace("configmaps", "team", "c", free)
    cluster.run(9)

    assert store.find("namespaces", "", "team") is None


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_cannot_be_deleted(cluster: Any, name: str) -> None:
    """403, as the API server's NamespaceLifecycle says."""
    with pytest.raises(ApiError, match="this namespace may not be deleted") as caught:
        cluster.engine.store.delete("namespaces", "", name)

    assert caught.value.status == 403
