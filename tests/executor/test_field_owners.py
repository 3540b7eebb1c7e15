"""Fields that somebody applies: which an operation would write, and who owns them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from schemas.outcome import Operation, Verb
from services.executor.reading.field_owners import OwnedObject, applied_fields

REPLICAS = {"f:spec": {"f:replicas": {}}}
CONTAINER = {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:resources": {}}}}}


def operation(verb: Verb, patch: Any = None, **fields: Any) -> Operation:
    """Return an operation with a patch."""
    text = "" if patch is None else json.dumps(patch)
    return Operation(verb=verb, resource="deployments", name="web", patch=text, text="", **fields)


def owned(fields: Any, manager: str = "flux", how: str = "Apply") -> OwnedObject:
    """Return an object with one owner, as the API server notes it."""
    note = {"manager": manager, "operation": how, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return msgspec.convert({"metadata": {"managedFields": [note]}}, OwnedObject)


@pytest.mark.parametrize(
    ("fields", "written", "expected"),
    [
        (REPLICAS, operation(Verb.SCALE, replicas=3), ["spec.replicas"]),
        (REPLICAS, operation(Verb.PATCH, {"spec": {"replicas": 3}}), ["spec.replicas"]),
        (REPLICAS, operation(Verb.PATCH, {"spec": {"replicas": None}}), ["spec.replicas"]),
        (REPLICAS, operation(Verb.PATCH, {"spec": {"suspend": True}}), []),
        (REPLICAS, operation(Verb.PATCH, {"metadata": {"annotations": {"ours": "1"}}}), []),
        ({"f:spec": {}}, operation(Verb.SCALE, replicas=3), ["spec.replicas"]),  # the whole spec
        ({"f:spec": {"f:taints": {}}}, operation(Verb.TAINT, {"add": []}), ["spec.taints"]),
        (
            {"f:spec": {"f:taints": {}}},
            operation(Verb.PATCH, {"spec": {"taints": []}}),
            ["spec.taints"],
        ),
        (
            CONTAINER,
            operation(
                Verb.RESIZE,
                {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": "1"}}}]}},
            ),
            ["spec.containers[main].resources.limits.cpu"],
        ),
        (
            CONTAINER,
            operation(
                Verb.RESIZE,
                {"spec": {"containers": [{"name": "log", "resources": {"limits": {"cpu": "1"}}}]}},
            ),
            [],
        ),
        (REPLICAS, operation(Verb.EVICT), []),
        (REPLICAS, operation(Verb.CREATE, {"spec": {"replicas": 1}}), []),
    ],
)
def test_fields_that_would_be_taken_away(
    fields: Any, written: Operation, expected: list[str]
) -> None:
    """Field by field; who owns a whole structure owns what is in it."""
    assert [one.field for one in applied_fields(owned(fields), written)] == expected


@pytest.mark.parametrize(
    ("manager", "how", "expected"),
    [
        ("flux", "Apply", 1),
        ("kubectl-client-side-apply", "Update", 0),  # written once, and anybody's to change
        ("foresail", "Apply", 0),
    ],
)
def test_only_others_who_apply_are_owners(manager: str, how: str, expected: int) -> None:
    """Whoever merely wrote a field expects nothing of it."""
    found = owned(REPLICAS, manager, how)
    assert len(applied_fields(found, operation(Verb.SCALE, replicas=3))) == expected


def test_an_object_without_notes_is_free() -> None:
    """As of servers before 1.18, or with the notes stripped."""
    empty = msgspec.convert({"metadata": {"name": "web"}}, OwnedObject)
    assert applied_fields(empty, operation(Verb.SCALE, replicas=3)) == ()
