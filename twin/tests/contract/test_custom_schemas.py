"""What structural schemas promise: types, limits, defaults, pruning, and what a schema itself has to be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.tests.contract.custom import Custom, Schema, causes, object_of, version
from twin.tests.contract.faces import Face
from twin.tests.contract.schema_cases import KEPT, REFUSED, SOUND, UNSOUND, VALUES

ALL = {"dryRun": "All"}


@pytest.fixture(scope="module")
def values(face: Face) -> Custom:
    """Return a definition with the schema that values are tried on."""
    return Custom(face, version(object_of(spec=VALUES))).create()


def _named(row: tuple[Any, ...]) -> str:
    return f"{row[0]} {json.dumps(row[1])}"[:60]


@pytest.mark.parametrize("row", KEPT, ids=_named)
def test_values_are_stored_pruned_and_defaulted(values: Custom, row: tuple[str, Any, Any]) -> None:
    """A valid value is stored without unknown fields and with its defaults."""
    name, sent, expected = row
    body = values.object("a", spec={name: sent})
    answer = values.face.ask("POST", values.path("default"), body=body, query=ALL)
    assert answer.status == 201, answer.text
    stored = answer.body["spec"]
    assert stored.get(name, ...) == expected
    assert type(stored.get(name, ...)) is type(expected)
    others = {"defaulted": {"mode": "auto"}, "filled": "x", "maybe_filled": "x"}
    others.pop(name, None)
    assert {key: value for key, value in stored.items() if key != name} == others


@pytest.mark.parametrize("row", REFUSED, ids=_named)
def test_wrong_values_are_refused_with_their_fields(
    values: Custom, row: tuple[str, Any, list[tuple[str, str]]]
) -> None:
    """A wrong value is 422 Invalid, with field and sentence of every problem."""
    name, sent, expected = row
    body = values.object("a", spec={name: sent})
    answer = values.face.ask("POST", values.path("default"), body=body, query=ALL)
    assert (answer.status, answer.reason) == (422, "Invalid"), answer.text
    assert [(one["field"], one["message"]) for one in causes(answer)] == expected
    texts = [f"{path}: {sentence}" for path, sentence in expected]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    assert answer.body["message"] == f'{values.kind}.{values.group} "a" is invalid: {text}'


@pytest.mark.parametrize("row", UNSOUND, ids=lambda row: row[0])
def test_schemas_that_are_not_structural_are_refused(
    face: Face, row: tuple[str, Schema, str, str]
) -> None:
    """A definition whose schema is not structural is 422, and names the place."""
    _, schema, field, sentence = row
    answer = Custom(face, version(object_of(spec=object_of(a=schema)))).ask_to_create(**ALL)
    assert answer.status == 422, answer.text
    assert (field, sentence) in [(one["field"], one["message"]) for one in causes(answer)]


@pytest.mark.parametrize("row", SOUND, ids=lambda row: row[0])
def test_structural_schemas_are_taken(face: Face, row: tuple[str, Schema]) -> None:
    """Every form of a structural schema is accepted."""
    answer = Custom(face, version(object_of(spec=object_of(a=row[1])))).ask_to_create(**ALL)
    assert answer.status == 201, answer.text


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"properties": {}}, "spec.validation.openAPIV3Schema.type"),
        ({"type": "string"}, "spec.validation.openAPIV3Schema.type"),
        (
            object_of(metadata=object_of(labels={"type": "object"})),
            "spec.validation.openAPIV3Schema.properties[metadata]",
        ),
    ],
    ids=["untyped", "no object", "of metadata"],
)
def test_a_root_is_an_object_with_its_own_metadata(face: Face, schema: Schema, field: str) -> None:
    """The root of a schema is an object, and says no more about metadata than names."""
    answer = Custom(face, version(schema)).ask_to_create(**ALL)
    assert (answer.status, [one["field"] for one in causes(answer)]) == (422, [field])


def test_unknown_fields_are_refused_when_a_client_is_strict(values: Custom) -> None:
    """`fieldValidation=Strict` refuses unknown fields of a custom resource, in order of name."""
    body = values.object(
        "a", spec={"other": 1, "needed": {"a": "x", "b": {"c": "y", "d": 1}}}, odd=1
    )
    query = {**ALL, "fieldValidation": "Strict"}
    answer = values.face.ask("POST", values.path("default"), body=body, query=query)
    assert answer.status == 400
    unknown = ("odd", "spec.needed.b.d", "spec.other")
    assert answer.body["message"] == (
        f'{values.kind} in version "v1" cannot be handled as a {values.kind}: strict decoding error: '
        + ", ".join(f'unknown field "{path}"' for path in unknown)
    )


def test_what_was_stored_before_may_stay(face: Face) -> None:
    """After a schema became narrower, a field that does not change is not checked again."""
    custom = Custom(
        face, version(object_of(spec=object_of(a={"type": "string"}, b={"type": "string"})))
    )
    custom.create()
    custom.make("default", "old", spec={"a": "long"})
    definition = custom.read().body
    place = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    place["properties"]["a"]["maxLength"] = 2
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{custom.name}"
    assert face.ask("PUT", path, body=definition).status == 200
    body = custom.object("new", spec={"a": "long"})
    custom.wait(
        lambda: face.ask("POST", custom.path("default"), body=body, query=ALL).status == 422
    )
    merge = "application/merge-patch+json"
    kept = face.ask(
        "PATCH", custom.path("default", "old"), body={"spec": {"b": "x"}}, content_type=merge
    )
    assert kept.status == 200, kept.text
    bad = face.ask(
        "PATCH", custom.path("default", "old"), body={"spec": {"a": "xyz"}}, content_type=merge
    )
    assert bad.status == 422
