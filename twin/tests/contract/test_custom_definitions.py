"""What CustomResourceDefinitions promise of themselves: versions, scope, names, checks, and their end."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.custom import DEFINITIONS, Custom, causes, object_of, patch, version
from twin.tests.contract.faces import Face, Place

ALL = {"dryRun": "All"}
BAD_SCALE = {"specReplicasPath": "spec.x", "statusReplicasPath": ".status.x"}
BAD_COLUMN = {"name": "A", "type": "text", "jsonPath": "a"}


def test_versions_show_the_same_object(face: Face, place: Place) -> None:
    """Every served version shows an object under its own name; the stored one is noted."""
    schema = object_of(spec=object_of(a={"type": "string"}))
    custom = Custom(
        face,
        version(schema, "v1"),
        version(schema, "v1beta1", storage=False, deprecated=True),
        version(schema, "v1alpha1", storage=False, served=False),
    ).create()
    custom.make(place.namespace, "a", spec={"a": "x"})
    older = custom.path(place.namespace, "a", version="v1beta1")
    shown = face.ask("GET", older).body
    assert (shown["apiVersion"], shown["spec"]) == (f"{custom.group}/v1beta1", {"a": "x"})
    listed = face.ask("GET", custom.path(place.namespace, version="v1beta1")).body
    assert [one["apiVersion"] for one in listed["items"]] == [f"{custom.group}/v1beta1"]
    assert (
        patch(custom, older, {"spec": {"a": "y"}}).body["apiVersion"] == f"{custom.group}/v1beta1"
    )
    event = face.events(custom.path(place.namespace, version="v1beta1"), {}, 1)[0]
    assert (event["type"], event["object"]["apiVersion"]) == ("ADDED", f"{custom.group}/v1beta1")
    assert face.ask("GET", custom.path(place.namespace, "a")).body["spec"] == {"a": "y"}
    assert face.ask("GET", custom.path(place.namespace, version="v1alpha1")).status == 404
    group = face.ask("GET", f"/apis/{custom.group}").body
    assert [one["version"] for one in group["versions"]] == ["v1", "v1beta1"]
    if face.has_headers:
        warning = face.ask("GET", older).headers["warning"]
        assert (
            f"{custom.group}/v1beta1 Widget is deprecated; use {custom.group}/v1 Widget" in warning
        )


def test_a_stored_version_cannot_be_dropped(face: Face) -> None:
    """Another version may become the stored one; the one before must stay while objects may be in it."""
    schema = object_of(spec=object_of(a={"type": "string"}))
    custom = Custom(face, version(schema, "v1"), version(schema, "v2", storage=False)).create()
    path = f"{DEFINITIONS}/{custom.name}"
    swapped = [version(schema, "v1", storage=False), version(schema, "v2")]
    assert patch(custom, path, {"spec": {"versions": swapped}}).status == 200
    custom.wait(lambda: custom.read().body["status"]["storedVersions"] == ["v1", "v2"])
    refused = patch(custom, path, {"spec": {"versions": [version(schema, "v2")]}})
    assert (refused.status, causes(refused)[0]["field"]) == (422, "status.storedVersions[0]")


def test_cluster_wide_kinds(face: Face) -> None:
    """A kind of cluster scope has no namespaces."""
    custom = Custom(
        face, version(object_of(spec={"type": "object"})), plural="planets", scope="Cluster"
    ).create()
    custom.make("", "earth")
    assert face.ask("GET", custom.path("", "earth")).status == 200
    inside = f"/apis/{custom.group}/v1/namespaces/default/planets"
    assert face.ask("POST", inside, body=custom.object("mars")).status == 404


def test_names_belong_to_the_first(face: Face) -> None:
    """A second definition with a name of the first is kept, not served, and says why."""
    first = Custom(face, version(object_of()), shortNames=["wd"]).create()
    second = Custom(face, version(object_of()), plural="gadgets", shortNames=["wd"])
    second.group, second.name = first.group, f"gadgets.{first.group}"
    assert second.ask_to_create().status == 201
    second.wait(lambda: second.condition("NamesAccepted") == "False")
    conditions = second.read().body["status"]["conditions"]
    assert [one["message"] for one in conditions if one["type"] == "NamesAccepted"] == [
        '"wd" is already in use'
    ]
    assert face.ask("GET", second.path("default")).status == 404


def test_a_definition_takes_its_objects_with_it(face: Face, place: Place) -> None:
    """A deleted definition deletes its objects first, then it is gone, and with it what it served."""
    custom = Custom(face, version(object_of(spec={"type": "object"}))).create()
    held = custom.object("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    face.ask("POST", custom.path(place.namespace), body=held)
    custom.make(place.namespace, "free")
    marked = custom.remove()
    assert marked.body["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    custom.wait(lambda: custom.condition("Terminating") == "True")
    custom.wait(lambda: face.ask("GET", custom.path(place.namespace, "free")).status == 404)
    late = custom.object("late")
    custom.wait(
        lambda: face.ask("POST", custom.path(place.namespace), body=late).status in (403, 405)
    )
    patch(custom, custom.path(place.namespace, "held"), {"metadata": {"finalizers": None}})
    custom.wait(lambda: custom.read().status == 404)
    custom.wait(lambda: face.ask("GET", custom.path(place.namespace)).status == 404)


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"scope": "Universe"}, ["spec.scope"]),
        ({"group": "nodots"}, ["spec.group"]),
        ({"names": {"plural": "widgets"}}, ["spec.names.singular", "spec.names.kind", "spec.names.listKind"]),
        ({"names": {"plural": "widgets", "kind": "Widget", "shortNames": ["W"]}}, ["spec.names.shortNames[0]"]),
        ({"conversion": {"strategy": "Magic"}}, ["spec.conversion.strategy"]),
        (
            {"conversion": {"strategy": "Webhook"}},
            ["spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions"],
        ),
        ({"preserveUnknownFields": True}, ["spec.preserveUnknownFields"]),
        ({"versions": [{"name": "v1", "served": True, "storage": True}]}, ["spec.versions[0].schema.openAPIV3Schema"]),
        ({"versions": [version(object_of(), deprecationWarning="x")]}, ["spec.versions[0].deprecationWarning"]),
        (
            {"versions": [version(object_of(), subresources={"scale": BAD_SCALE})]},
            ["spec.subresources.scale.specReplicasPath"],
        ),
        (
            {"versions": [version(object_of(), additionalPrinterColumns=[BAD_COLUMN])]},
            ["spec.additionalPrinterColumns[0].type", "spec.additionalPrinterColumns[0].JSONPath"],
        ),
        (
            {"versions": [version(object_of(), selectableFields=[{"jsonPath": ".spec.x"}])]},
            ["spec.selectableFields[0].jsonPath"],
        ),
    ],
)  # fmt: skip
def test_definitions_are_checked(face: Face, change: dict[str, Any], fields: list[str]) -> None:
    """Faults of a definition is 422 with its fields."""
    custom = Custom(face, version(object_of()))
    body = custom.body()
    body["spec"] |= change
    if "group" in change:
        body["metadata"]["name"] = f"widgets.{change['group']}"
    answer = face.ask("POST", DEFINITIONS, body=body, query=ALL)
    assert (answer.status, [one["field"] for one in causes(answer)]) == (422, fields)
