"""What is applied and does not fit its types: refused by path, in the words of a merge of typed values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twin.contract.faces import APPLY, JSON_PATCH, Answer, Place

Object = dict[str, Any]
UNKNOWN = "field not declared in schema"
GOOD = {"name": "c", "image": "i"}
QUANTITY = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


def _apply(place: Place, resource: str, kind: str, body: Object, **more: str) -> Answer:
    obj = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "q"}, **body}
    query = {"fieldManager": "m", "dryRun": "All", **more}
    return place.ask("PATCH", resource, "q", body=obj, content_type=APPLY, query=query)


@pytest.mark.parametrize(("body", "wrong"), [
    ({"data": {"a": 1}}, ".data.a: expected string, got &value.valueUnstructured{Value:1}"),
    ({"data": {"a": ["b"]}}, '.data.a: expected string, got &value.valueUnstructured{Value:[]interface {}{"b"}}'),
    ({"dat": {}}, f".dat: {UNKNOWN}"),
    ({"metadata": {"name": "q", "lab": 1}}, f".metadata.lab: {UNKNOWN}"),
    ({"data": []}, ".data: expected map, got &{[]}"),
    ({"immutable": "x"}, ".immutable: expected boolean, got &{x}"),
])  # fmt: skip
def test_a_config_map_of_other_types(place: Place, body: Object, wrong: str) -> None:
    """Whatever `fieldValidation` says."""
    for mode in ("Strict", "Ignore"):
        answer = _apply(place, "configmaps", "ConfigMap", body, fieldValidation=mode)
        assert answer.status == 500
        what = "failed to create typed patch object (/q; /v1, Kind=ConfigMap)"
        assert answer.body["message"] == f"{what}: {wrong}"


CONTAINER = '.spec.containers[name="c"]'
PORT = f'{CONTAINER}.ports[containerPort="x",protocol="TCP"]'


@pytest.mark.parametrize(("spec", "wrong"), [
    ({"containers": [{**GOOD, "zz": 1, "ports": [{"containerPort": "x"}]}]},
     f"errors:\n  {PORT}.containerPort: expected numeric (int or float), got string\n  {CONTAINER}.zz: {UNKNOWN}"),
    ({"containers": [GOOD, GOOD]}, '.spec.containers: duplicate entries for key [name="c"]'),
    ({"containers": [{**GOOD, "ports": [{"containerPort": 80}, {"containerPort": 80}]}]},
     f'{CONTAINER}.ports: duplicate entries for key [containerPort=80,protocol="TCP"]'),
    ({"replicas": 1, "containers": "x"},
     f"errors:\n  .spec.containers: expected list, got &{{x}}\n  .spec.replicas: {UNKNOWN}"),
])  # fmt: skip
def test_a_pod_of_other_types(place: Place, spec: Object, wrong: str) -> None:
    """All that is wrong is named, items of lists by what tells them apart."""
    answer = _apply(place, "pods", "Pod", {"spec": spec})
    assert answer.status == 500
    what = "failed to create typed patch object (/q; /v1, Kind=Pod)"
    assert answer.body["message"] == f"{what}: {wrong}"


def test_a_value_of_the_right_type_that_means_nothing(place: Place) -> None:
    """Types come first, then what a program makes of the values, then what the kind demands."""
    amounts = {"resources": {"limits": {"cpu": "x"}}}
    answer = _apply(place, "pods", "Pod", {"spec": {"containers": [{**GOOD, **amounts}]}})
    what = "failed to convert new object (/q; /v1, Kind=Pod) to proper version"
    why = f"unable to convert unstructured object to /v1, Kind=Pod: {QUANTITY}"
    assert (answer.status, answer.body["message"]) == (500, f"{what}: {why}")
    nameless = _apply(place, "pods", "Pod", {"spec": {"containers": [{"image": "i"}]}})
    said = 'Pod "q" is invalid: spec.containers[0].name: Required value'
    assert (nameless.status, nameless.body["message"]) == (422, said)


def test_who_makes_something_says_its_name(place: Place) -> None:
    """The path is not enough."""
    answer = _apply(place, "configmaps", "ConfigMap", {"metadata": {}})
    assert (answer.status, answer.body["message"]) == (
        400,
        "the name of the object (q based on URL) was undeterminable: name must be provided",
    )


@pytest.mark.parametrize(("patch", "wrong"), [
    ({"op": "x"}, "object into Go value of type []handlers.jsonPatchOp"),
    (["x"], "string into Go value of type handlers.jsonPatchOp"),
])  # fmt: skip
def test_a_json_patch_that_is_none(place: Place, patch: Any, wrong: str) -> None:
    """It is a list of steps."""
    place.make("configmaps", {"metadata": {"name": "q"}})
    answer = place.ask("PATCH", "configmaps", "q", body=patch, content_type=JSON_PATCH)
    said = f"error decoding patch: json: cannot unmarshal {wrong}"
    assert (answer.status, answer.body["message"]) == (400, said)
