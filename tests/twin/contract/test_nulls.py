"""What null stands for in what a client writes, and who owns it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twin.contract.faces import APPLY, MERGE, Answer, Place

Object = dict[str, Any]


def _apply(place: Place, resource: str, obj: Object, manager: str = "one") -> Answer:
    name, query = obj["metadata"]["name"], {"fieldManager": manager}
    return place.ask("PATCH", resource, name, body=obj, content_type=APPLY, query=query)


def _fields(obj: Object, manager: str = "one") -> Object:
    (entry,) = [one for one in obj["metadata"]["managedFields"] if one["manager"] == manager]
    fields: Object = entry["fieldsV1"]
    return fields


def _config_map(name: str, data: Any, **head: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **head},
        "data": data,
    }


def test_a_null_in_a_map_is_an_empty_text(place: Place) -> None:
    """When it is created as when it is applied."""
    made = place.make("configmaps", _config_map("made", {"a": "b", "n": None}, annotations=None))
    assert made["data"] == {"a": "b", "n": ""}
    assert _fields(made, made["metadata"]["managedFields"][0]["manager"])["f:data"] == {
        ".": {}, "f:a": {}, "f:n": {},
    }  # fmt: skip
    applied = _apply(
        place, "configmaps", _config_map("applied", {"a": "b", "n": None}, labels=None)
    )
    assert applied.status == 201, applied.text
    assert applied.body["data"] == {"a": "b", "n": ""}
    assert _fields(applied.body) == {
        "f:data": {"f:a": {}, "f:n": {}},
        "f:metadata": {"f:labels": {}},
    }


def test_who_applies_null_owns_it(place: Place) -> None:
    """It is as if nothing were said, but nobody else may say it; an empty list with keys is nobody's."""
    container = {"name": "c", "image": "i", "env": None, "ports": [], "resources": None}
    inner = {"containers": [container], "nodeSelector": None, "volumes": None}
    template = {"metadata": {"labels": {"a": "b"}, "creationTimestamp": None}, "spec": inner}
    spec = {"replicas": None, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    head = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    answer = _apply(place, "deployments", {**head, "spec": spec})
    assert answer.status == 201, answer.text
    assert answer.body["spec"]["replicas"] == 1
    assert "ports" not in answer.body["spec"]["template"]["spec"]["containers"][0]
    owned = _fields(answer.body)["f:spec"]
    assert owned["f:replicas"] == {}
    assert owned["f:template"]["f:metadata"] == {
        "f:creationTimestamp": {}, "f:labels": {"f:a": {}},
    }  # fmt: skip
    below = owned["f:template"]["f:spec"]
    assert (below["f:nodeSelector"], below["f:volumes"]) == ({}, {})
    assert below["f:containers"] == {
        'k:{"name":"c"}': {".": {}, "f:env": {}, "f:image": {}, "f:name": {}, "f:resources": {}}
    }
    again = _apply(place, "deployments", {**head, "spec": {"replicas": 3}}, "two")
    assert again.status == 409
    assert again.body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "one"',
            "field": ".spec.replicas",
        }
    ]


def test_null_instead_of_what_is_there_takes_nothing_away(place: Place) -> None:
    """A map that is applied as null keeps what others say, and belongs to both."""
    assert _apply(place, "configmaps", _config_map("m", {"a": "b"})).status == 201
    found = _apply(place, "configmaps", _config_map("m", None), "two")
    assert found.status == 200, found.text
    assert found.body["data"] == {"a": "b"}
    assert _fields(found.body, "two") == {"f:data": {}}
    left = _apply(place, "configmaps", _config_map("m", None))
    assert "data" not in left.body
    assert _fields(left.body) == {"f:data": {}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"containers": [None]},
         'Pod "p" is invalid: [spec.containers[0].name: Required value, spec.containers[0].image: Required value]'),
        ({"containers": [{"name": "c", "image": "i", "env": [None]}], "volumes": [None]},
         'Pod "p" is invalid: [spec.volumes[0].name: Required value, spec.containers[0].env[0].name: Required value]'),
    ],
)  # fmt: skip
def test_a_null_in_a_list_is_an_empty_item(place: Place, spec: Object, message: str) -> None:
    """So it lacks what an item needs."""
    answer = place.ask("POST", "pods", body={"metadata": {"name": "p"}, "spec": spec})
    assert (answer.status, answer.body["message"]) == (422, message)


def test_a_null_in_an_applied_list_with_keys(place: Place) -> None:
    """It has no key by which anybody could own it."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [None]},
    }
    answer = _apply(place, "pods", pod)
    assert answer.status == 500
    assert answer.body["message"] == (
        "failed to create typed patch object (/p; /v1, Kind=Pod): .spec.containers: element 0: "
        "associative list with keys may not have a null element"
    )


def test_a_null_amount_is_zero(place: Place) -> None:
    """And a null argument, label or node's label is an empty text."""
    container = {
        "name": "c",
        "image": "i",
        "args": ["a", None],
        "resources": {"limits": {"cpu": None}},
    }
    spec = {"containers": [container], "nodeSelector": {"a": None}}
    pod = place.make("pods", {"metadata": {"name": "p", "labels": {"a": None}}, "spec": spec})
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "0"},
        "requests": {"cpu": "0"},
    }
    assert pod["spec"]["containers"][0]["args"] == ["a", ""]
    assert (pod["spec"]["nodeSelector"], pod["metadata"]["labels"]) == ({"a": ""}, {"a": ""})


def test_a_merged_null_takes_away(place: Place) -> None:
    """In a merge patch it is no value, but the end of one."""
    place.make("configmaps", _config_map("m", {"a": "b", "c": "d"}))
    body = {"data": {"a": None, "new": None}}
    answer = place.ask("PATCH", "configmaps", "m", body=body, content_type=MERGE)
    assert answer.body["data"] == {"c": "d"}


def test_a_label_without_a_name(place: Place) -> None:
    """It is too short, and has no form either."""
    answer = place.ask("POST", "configmaps", body=_config_map("m", {}, labels={"": "x"}))
    assert answer.status == 422
    assert [cause["message"][:52] for cause in answer.body["details"]["causes"]] == [
        'Invalid value: "": name part must be non-empty',
        'Invalid value: "": name part must consist of alphanu',
    ]
