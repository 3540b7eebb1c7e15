"""The index of one kind: what a list and a watch bring, in the order of a list, by identity."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.kube_index import ObjectIndex, WatchError, WatchExpired
from services.kube_objects import Node, Pod, PodMeta


def line(kind: str, name: str, version: str, namespace: str = "shop", **metadata: Any) -> bytes:
    """Return one line of a watch of pods."""
    body = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": version}
    return json.dumps({"type": kind, "object": {"metadata": {**body, **metadata}}}).encode()


def pod(name: str, version: str, namespace: str = "shop") -> Pod:
    """Return a pod of a list."""
    return Pod(
        metadata=PodMeta(
            name=name, namespace=namespace, uid=f"uid-{name}", resource_version=version
        )
    )


def names(index: ObjectIndex[Pod]) -> list[str]:
    """Return the keys of all pods, in the index's order."""
    return [one.key for one in index.objects()]


def test_a_watch_goes_on_where_the_list_ended() -> None:
    """What is added, changed and deleted is seen, and the version moves on with it."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3"), pod("c", "4")], "7")
    index.apply(line("ADDED", "b", "8"))
    index.apply(line("MODIFIED", "a", "9", labels={"tier": "web"}))
    index.apply(line("DELETED", "c", "10"))
    assert names(index) == ["shop/a", "shop/b"]
    assert index.objects()[0].metadata.labels == {"tier": "web"}
    assert index.version == "10"
    assert index.changes == 3


def test_the_order_is_that_of_a_list() -> None:
    """As etcd orders keys: `a-b/x` comes before `a/x`, whatever came first."""
    index = ObjectIndex(Pod)
    index.replace([], "1")
    for place, namespace in enumerate(["b", "a", "a-b"]):
        index.apply(line("ADDED", "x", str(place + 2), namespace))
    assert names(index) == ["a-b/x", "a/x", "b/x"]
    nodes = ObjectIndex(Node)
    nodes.replace([], "1")
    for place, name in enumerate(["n2", "n10", "n1"]):
        nodes.apply(line("ADDED", name, str(place + 2), ""))
    assert [node.metadata.name for node in nodes.objects()] == ["n1", "n10", "n2"]


def test_what_has_not_changed_stays_the_same_object() -> None:
    """So that who looks again sees by identity what has changed, even over a second list."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3"), pod("b", "4")], "7")
    first = index.objects()
    index.apply(line("MODIFIED", "b", "8"))
    second = index.objects()
    assert second[0] is first[0]
    assert second[1] is not first[1]
    index.replace([pod("a", "3"), pod("b", "9")], "9")
    third = index.objects()
    assert third[0] is first[0]
    assert third[1] is not second[1]
    assert index.objects() is third


def test_an_object_made_anew_under_its_name_is_another() -> None:
    """The same name and version with another uid is not the object that was known."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3")], "7")
    first = index.objects()
    again = Pod(metadata=PodMeta(name="a", namespace="shop", uid="other", resource_version="3"))
    index.replace([again], "8")
    assert index.objects()[0] is again is not first[0]


def test_a_bookmark_moves_the_version_alone() -> None:
    """It brings no object."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3")], "7")
    before = index.objects()
    index.apply(b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"90"}}}')
    assert index.version == "90"
    assert index.objects() is before
    assert index.changes == 0


@pytest.mark.parametrize(
    "said",
    [
        {"code": 410, "reason": "Expired", "message": "too old resource version: 1 (2)"},
        {"code": 410, "reason": "Gone", "message": "too old resource version"},
    ],
)
def test_a_version_that_is_gone_asks_for_a_list(said: dict[str, Any]) -> None:
    """The server ends a watch so when it has compacted the changes that follow."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3")], "7")
    with pytest.raises(WatchExpired, match="too old"):
        index.apply(json.dumps({"type": "ERROR", "object": said}).encode())


def test_another_error_of_a_watch_keeps_its_words() -> None:
    """Status, reason and message, as of a refused request."""
    said = {"code": 500, "reason": "InternalError", "message": "etcdserver: no leader"}
    with pytest.raises(WatchError, match="no leader") as raised:
        ObjectIndex(Pod).apply(json.dumps({"type": "ERROR", "object": said}).encode())
    assert (raised.value.status, raised.value.reason) == (500, "InternalError")


@pytest.mark.parametrize("kind", ["ADDED", "BOOKMARK"])
def test_a_server_set_back_to_a_backup_is_noticed(kind: str) -> None:
    """Its numbers fall, so what is known may never have been."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3")], "700")
    with pytest.raises(WatchExpired, match="went back from 700 to 650"):
        index.apply(line(kind, "b", "650"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "truncated"),
        (b'{"type":"ADDED"}', "missing required field `object`"),
        (b'{"type":"RENAMED","object":{}}', "'RENAMED', which is no type"),
        (b"[]", "Expected `object`"),
        (b"\xff", "malformed"),
    ],
)
def test_a_line_that_is_none_is_a_value_error(text: bytes, words: str) -> None:
    """Nothing of it is taken over."""
    index = ObjectIndex(Pod)
    index.replace([pod("a", "3")], "7")
    with pytest.raises(ValueError, match=words):
        index.apply(text)
    assert names(index) == ["shop/a"]
    assert index.version == "7"
