"""What CustomResourceDefinitions promise: served objects, versions, subresources, discovery, and their end."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.custom import Custom, Schema, causes, object_of, patch, version
from twin.tests.contract.faces import APPLY, JSON_PATCH, STRATEGIC, Face, Place

ALL = {"dryRun": "All"}
SPEC: Schema = object_of(
    replicas={"type": "integer"},
    selector={"type": "string"},
    color={"type": "string"},
    rows={
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {
            **object_of(name={"type": "string"}, value={"type": "integer"}),
            "required": ["name"],
        },
    },
    words={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    whole={
        **object_of(a={"type": "string"}, b={"type": "string"}),
        "x-kubernetes-map-type": "atomic",
    },
)
STATUS: Schema = object_of(
    replicas={"type": "integer"}, selector={"type": "string"}, phase={"type": "string"}
)
SCALE = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
COLUMNS = [
    {"name": "Color", "type": "string", "jsonPath": ".spec.color", "description": "Its color"},
    {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas", "priority": 1},
    {"name": "Second", "type": "integer", "jsonPath": '.spec.rows[?(@.name=="b")].value'},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
]


@pytest.fixture(scope="module")
def widgets(face: Face) -> Custom:
    """Return a definition with everything that a version can have."""
    whole = version(
        object_of(spec=SPEC, status=STATUS),
        subresources={"status": {}, "scale": SCALE},
        additionalPrinterColumns=COLUMNS,
        selectableFields=[{"jsonPath": ".spec.color"}],
    )
    return Custom(face, whole, shortNames=["wd"], categories=["all", "toys"]).create()


@pytest.fixture
def at(widgets: Custom, place: Place) -> str:
    """Return a new namespace on the definition's face."""
    assert place.face is widgets.face
    return place.namespace


def test_a_definition_says_what_it_serves(widgets: Custom) -> None:
    """Names are defaulted and accepted, the definition is established, its version noted as stored."""
    definition = widgets.read().body
    names = {**widgets.names, "singular": "widget", "listKind": "WidgetList"}
    assert definition["spec"]["names"] == names
    assert definition["spec"]["conversion"] == {"strategy": "None"}
    status = definition["status"]
    assert (status["acceptedNames"], status["storedVersions"]) == (names, ["v1"])
    conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert conditions["NamesAccepted"] == ("True", "NoConflicts")
    assert conditions["Established"] == ("True", "InitialNamesAccepted")
    assert definition["metadata"]["generation"] == 1


def test_discovery_follows_a_definition(widgets: Custom) -> None:
    """Groups, resources, subresources, short names and categories are discovered at once."""
    face, group = widgets.face, widgets.group
    widgets.wait(lambda: face.ask("GET", f"/apis/{group}/v1").status == 200)
    groups = {one["name"]: one for one in face.ask("GET", "/apis").body["groups"]}
    assert groups[group]["preferredVersion"] == {"groupVersion": f"{group}/v1", "version": "v1"}
    listed = {one["name"]: one for one in face.ask("GET", f"/apis/{group}/v1").body["resources"]}
    assert set(listed) == {"widgets", "widgets/status", "widgets/scale"}
    own = listed["widgets"]
    assert (own["kind"], own["singularName"], own["namespaced"]) == ("Widget", "widget", True)
    assert (own["shortNames"], own["categories"]) == (["wd"], ["all", "toys"])
    assert set(own["verbs"]) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }
    scale = listed["widgets/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


def test_openapi_follows_a_definition(widgets: Custom) -> None:
    """OpenAPI 3 has the schema of a custom kind, with its place in the API."""
    path = f"/openapi/v3/apis/{widgets.group}/v1"
    widgets.wait(lambda: widgets.face.ask("GET", path).status == 200)
    schemas = widgets.face.ask("GET", path).body["components"]["schemas"]
    kind = {"group": widgets.group, "version": "v1", "kind": "Widget"}
    own = [
        each for each in schemas.values() if kind in each.get("x-kubernetes-group-version-kind", ())
    ]
    assert own[0]["properties"]["spec"]["properties"]["color"] == {"type": "string"}


def test_objects_live_as_others_do(widgets: Custom, at: str) -> None:
    """Custom resources are created, read, listed, selected, replaced and deleted like any object."""
    made = widgets.make(at, "a", spec={"color": "red"})
    assert (made["metadata"]["generation"], made["kind"]) == (1, "Widget")
    widgets.make(at, "b", spec={"color": "blue"})
    path = widgets.path(at)
    listed = widgets.face.ask("GET", path).body
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", f"{widgets.group}/v1")
    assert [(one["kind"], one["metadata"]["name"]) for one in listed["items"]] == [
        ("Widget", "a"), ("Widget", "b"),
    ]  # fmt: skip
    for selector, names in (
        ("metadata.name=b", ["b"]),
        ("spec.color=red", ["a"]),
        ("spec.color!=red", ["b"]),
    ):
        found = widgets.face.ask("GET", path, {"fieldSelector": selector}).body["items"]
        assert [one["metadata"]["name"] for one in found] == names
    assert widgets.face.ask("GET", path, {"fieldSelector": "spec.size=1"}).status == 400
    again = widgets.face.ask("POST", path, body=widgets.object("a", spec={}))
    assert (again.status, again.body["message"]) == (
        409,
        f'widgets.{widgets.group} "a" already exists',
    )
    put = widgets.face.ask("PUT", widgets.path(at, "a"), body=widgets.object("a", spec={}))
    assert (put.status, causes(put)[0]["field"]) == (422, "metadata.resourceVersion")
    made["spec"]["color"] = "green"
    assert (
        widgets.face.ask("PUT", widgets.path(at, "a"), body=made).body["metadata"]["generation"]
        == 2
    )
    assert widgets.face.ask("PUT", widgets.path(at, "a"), body=made).status == 409
    gone = widgets.face.ask("DELETE", widgets.path(at, "a"))
    assert (gone.status, gone.body["details"]["kind"]) == (200, "widgets")
    missing = widgets.face.ask("GET", widgets.path(at, "a"))
    assert missing.body["message"] == f'widgets.{widgets.group} "a" not found'
    assert widgets.face.ask("DELETE", path).status == 200
    assert widgets.face.ask("GET", path).body["items"] == []


def test_watches_follow_objects(widgets: Custom, at: str) -> None:
    """A watch of custom resources gives every change in order, with kind and version."""
    start = widgets.face.ask("GET", widgets.path(at)).version
    widgets.make(at, "a", spec={})
    patch(widgets, widgets.path(at, "a"), {"spec": {"color": "red"}})
    widgets.face.ask("DELETE", widgets.path(at, "a"))
    events = widgets.face.events(widgets.path(at), {"resourceVersion": start}, 3)
    assert [(one["type"], one["object"]["kind"]) for one in events] == [
        ("ADDED", "Widget"), ("MODIFIED", "Widget"), ("DELETED", "Widget"),
    ]  # fmt: skip


def test_patches_of_custom_resources(widgets: Custom, at: str) -> None:
    """JSON and merge patches work; a strategic one is 415 and says what is taken."""
    widgets.make(at, "a", spec={"color": "red"})
    path = widgets.path(at, "a")
    assert patch(widgets, path, {"spec": {"color": None, "replicas": 2}}).body["spec"] == {
        "replicas": 2
    }
    steps = [{"op": "replace", "path": "/spec/replicas", "value": 3}]
    assert patch(widgets, path, steps, JSON_PATCH).body["spec"] == {"replicas": 3}
    refused = patch(widgets, path, {"spec": {}}, STRATEGIC)
    assert refused.status == 415
    assert (
        "accepted media types include: application/json-patch+json, application/merge-patch+json"
        in refused.text
    )


def test_generation_counts_changes_of_the_spec(widgets: Custom, at: str) -> None:
    """Metadata and status leave the generation alone, and a status is written through its subresource."""
    widgets.make(at, "a", spec={"color": "red"}, status={"phase": "Lost"})
    path = widgets.path(at, "a")
    first = patch(
        widgets, path, {"metadata": {"labels": {"x": "y"}}, "status": {"phase": "Lost"}}
    ).body
    assert (first["metadata"]["generation"], "status" in first) == (1, False)
    through = {"spec": {"color": "blue"}, "status": {"phase": "Ready"}}
    second = patch(widgets, widgets.path(at, "a", "status"), through).body
    assert (second["metadata"]["generation"], second["spec"]["color"]) == (1, "red")
    assert second["status"] == {"phase": "Ready"}
    third = patch(widgets, path, {"spec": {"color": "blue"}, "status": {"phase": "Lost"}}).body
    assert (third["metadata"]["generation"], third["status"]) == (2, {"phase": "Ready"})
    bad = patch(widgets, widgets.path(at, "a", "status"), {"status": {"phase": 1}})
    assert (bad.status, causes(bad)[0]["field"]) == (422, "status.phase")


def test_scale_is_read_and_written_by_its_paths(widgets: Custom, at: str) -> None:
    """The scale subresource shows and sets what the definition's paths name."""
    widgets.make(at, "a", spec={"replicas": 3})
    path = widgets.path(at, "a", "scale")
    patch(
        widgets, widgets.path(at, "a", "status"), {"status": {"replicas": 2, "selector": "app=a"}}
    )
    scale = widgets.face.ask("GET", path).body
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale", {"replicas": 3}, {"replicas": 2, "selector": "app=a"},
    )  # fmt: skip
    assert patch(widgets, path, {"spec": {"replicas": 5}}).body["spec"] == {"replicas": 5}
    assert widgets.face.ask("GET", widgets.path(at, "a")).body["spec"]["replicas"] == 5
    assert patch(widgets, path, {"spec": {"replicas": -1}}).status == 422
    widgets.make(at, "none", spec={})
    assert widgets.face.ask("GET", widgets.path(at, "none", "scale")).status == 500


def _apply(custom: Custom, at: str, manager: str, spec: Any, **query: str) -> Any:
    body = custom.object("a", spec=spec)
    return patch(custom, custom.path(at, "a"), body, APPLY, fieldManager=manager, **query)


def test_appliers_share_lists_by_their_type(widgets: Custom, at: str) -> None:
    """Server-side apply merges keyed lists and sets by item, atomic maps as a whole, and notes owners."""
    first = {"rows": [{"name": "x", "value": 1}], "words": ["one"], "whole": {"a": "1"}}
    assert _apply(widgets, at, "first", first).status == 201
    both = _apply(
        widgets, at, "second", {"rows": [{"name": "y", "value": 2}], "words": ["two"]}
    ).body
    assert both["spec"]["rows"] == [{"name": "x", "value": 1}, {"name": "y", "value": 2}]
    assert both["spec"]["words"] == ["one", "two"]
    refused = _apply(
        widgets, at, "second", {"rows": [{"name": "x", "value": 3}], "whole": {"b": "2"}}
    )
    assert refused.status == 409
    fields = {one["field"] for one in causes(refused)}
    assert fields == {'.spec.rows[name="x"].value', ".spec.whole"}
    forced = _apply(widgets, at, "second", {"whole": {"b": "2"}}, force="true").body
    assert forced["spec"]["whole"] == {"b": "2"}
    assert forced["spec"]["rows"] == [{"name": "x", "value": 1}]
    assert {one["manager"] for one in forced["metadata"]["managedFields"]} == {"first", "second"}


def test_columns_are_those_of_the_definition(widgets: Custom, over_http: Place) -> None:
    """`kubectl get` shows the columns that the definition names, in order, with types and priorities."""
    spec = {
        "color": "red",
        "replicas": 2,
        "rows": [{"name": "a", "value": 1}, {"name": "b", "value": 7}],
    }
    widgets.make(over_http.namespace, "a", spec=spec)
    widgets.make(over_http.namespace, "b", spec={})
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    table = widgets.face.ask("GET", widgets.path(over_http.namespace), accept=accept).body
    heads = [(one["name"], one["type"], one["priority"]) for one in table["columnDefinitions"]]
    assert heads == [
        ("Name", "string", 0), ("Color", "string", 0), ("Replicas", "integer", 1), ("Second", "integer", 0),
        ("Age", "date", 0),
    ]  # fmt: skip
    assert [row["cells"][:4] for row in table["rows"]] == [
        ["a", "red", 2, 7],
        ["b", None, None, None],
    ]
    assert table["rows"][0]["cells"][4].endswith("s")


def test_finalizers_hold_custom_resources(widgets: Custom, at: str) -> None:
    """A custom resource with a finalizer stays, marked, until the finalizer goes."""
    body = widgets.object("a", spec={})
    body["metadata"]["finalizers"] = ["example.com/hold"]
    widgets.face.ask("POST", widgets.path(at), body=body)
    marked = widgets.face.ask("DELETE", widgets.path(at, "a"))
    assert "deletionTimestamp" in marked.body["metadata"]
    patch(widgets, widgets.path(at, "a"), {"metadata": {"finalizers": None}})
    assert widgets.face.ask("GET", widgets.path(at, "a")).status == 404


def test_dependents_of_custom_resources_are_collected(
    widgets: Custom, collected_place: Place
) -> None:
    """What a custom resource owns goes with it, and custom resources go with their owners."""
    at = collected_place.namespace
    owner = widgets.make(at, "owner", spec={})
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": "Widget",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    config = {"metadata": {"name": "owned", "ownerReferences": [reference]}}
    collected_place.make("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", **config})
    below = widgets.object("below", spec={})
    below["metadata"]["ownerReferences"] = [reference]
    widgets.face.ask("POST", widgets.path(at), body=below)
    assert collected_place.ask("GET", "configmaps", "owned").status == 200
    widgets.face.ask("DELETE", widgets.path(at, "owner"))
    widgets.wait(lambda: collected_place.ask("GET", "configmaps", "owned").status == 404)
    widgets.wait(lambda: widgets.face.ask("GET", widgets.path(at, "below")).status == 404)
