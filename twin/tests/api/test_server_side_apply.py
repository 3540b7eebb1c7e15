"""Server-side apply: who owns what, what conflicts, and what goes when nobody says it any more."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twin.api.field_sets import (
    build_trie,
    from_fields,
    merge_given,
    owned_paths,
    remove_paths,
    to_fields,
)
from twin.api.schema import root_of
from twin.tests.api.conftest import MERGE, Api

Make = Callable[..., dict[str, Any]]
PLACE = "/apis/apps/v1/namespaces/default/deployments"
WEB = f"{PLACE}/web"
MAP = "/api/v1/namespaces/default/configmaps/m"


def _map(data: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "m", **metadata},
        "data": data,
    }


def _owners(obj: dict[str, Any]) -> dict[tuple[str, str], Any]:
    entries = obj["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def test_an_apply_creates_and_owns_what_it_says(api: Api) -> None:
    """The first apply creates; its manager owns exactly the fields of the configuration."""
    status, made = api.apply(MAP, _map({"a": "1"}), "me")
    assert (status, made["data"]) == (201, {"a": "1"})
    assert _owners(made) == {("me", "Apply"): {"f:data": {"f:a": {}}}}


def test_an_equal_apply_changes_nothing(api: Api) -> None:
    """Applying the same again gives the same resourceVersion and the same time."""
    _, first = api.apply(MAP, _map({"a": "1"}), "me")
    api.engine.advance(api.engine.now + 100.0)
    status, second = api.apply(MAP, _map({"a": "1"}), "me")
    assert (status, second) == (200, first)


def test_another_value_of_anothers_field_is_a_conflict(api: Api) -> None:
    """A second manager that says another value gets 409 with the owner and the field; the object
    stays as it was.
    """
    _, before = api.apply(MAP, _map({"a": "1", "b": "1"}), "me")
    status, refused = api.apply(MAP, _map({"a": "2", "b": "2"}), "you")
    assert (status, refused["reason"]) == (409, "Conflict")
    assert {cause["field"] for cause in refused["details"]["causes"]} == {".data.a", ".data.b"}
    assert refused["message"] == (
        'Apply failed with 2 conflicts: conflicts with "me":\n- .data.a\n- .data.b'
    )
    assert api.ask("GET", MAP)[1] == before


def test_force_takes_the_field(api: Api) -> None:
    """A forced apply takes the value and the ownership of the fields in conflict."""
    api.apply(MAP, _map({"a": "1", "b": "1"}), "me")
    _, taken = api.apply(MAP, _map({"a": "2"}), "you", force="true")
    assert taken["data"] == {"a": "2", "b": "1"}
    assert _owners(taken)[("me", "Apply")] == {"f:data": {"f:b": {}}}
    assert _owners(taken)[("you", "Apply")] == {"f:data": {"f:a": {}}}


def test_the_same_value_is_shared(api: Api) -> None:
    """Managers that agree own a field together; it goes when the last of them stops saying it."""
    api.apply(MAP, _map({"a": "1"}), "me")
    status, _ = api.apply(MAP, _map({"a": "1"}), "you")
    assert status == 200
    assert api.apply(MAP, _map({}), "me")[1]["data"] == {"a": "1"}
    assert "a" not in api.apply(MAP, _map({"b": "1"}), "you")[1].get("data", {})


def test_what_is_no_longer_said_goes(api: Api) -> None:
    """A field that its only owner leaves out is removed; others stay."""
    api.apply(MAP, _map({"a": "1", "b": "1"}, labels={"x": "y"}), "me")
    _, left = api.apply(MAP, _map({"a": "1"}), "me")
    assert left["data"] == {"a": "1"}
    assert "labels" not in left["metadata"]


def test_an_update_takes_what_it_changes(api: Api) -> None:
    """A patch owns what it gave another value, so the next apply conflicts with it."""
    api.apply(MAP, _map({"a": "1"}), "me")
    _, changed = api.ask("PATCH", MAP, {"data": {"a": "2"}}, kind=MERGE, fieldManager="hand")
    assert _owners(changed) == {("hand", "Update"): {"f:data": {"f:a": {}}}}
    status, refused = api.apply(MAP, _map({"a": "1"}), "me")
    assert status == 409
    assert 'conflict with "hand" using v1: .data.a' in refused["message"]


def test_items_of_lists_are_told_apart_by_their_keys(api: Api, deployment: Make) -> None:
    """Two managers own different containers of one pod template, and each removes only its own."""
    made = deployment()
    assert api.apply(WEB, made, "me")[0] == 201
    sidecar = {"name": "side", "image": "s:1"}
    pod = {"spec": {"containers": [sidecar]}}
    extra = {key: made[key] for key in ("apiVersion", "kind", "metadata")}
    status, both = api.apply(WEB, {**extra, "spec": {"template": pod}}, "you")
    assert status == 200
    containers = both["spec"]["template"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["c", "side"]
    _, one = api.apply(WEB, {**extra, "spec": {}}, "you")
    assert [each["name"] for each in one["spec"]["template"]["spec"]["containers"]] == ["c"]


def test_lists_without_keys_are_one_value(api: Api, deployment: Make) -> None:
    """Another list of arguments is a conflict on the whole list."""
    containers = [{"name": "c", "image": "i:1", "args": ["a"]}]
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": containers}}
    assert api.apply(WEB, deployment(template=template), "me")[0] == 201
    containers[0]["args"] = ["a", "b"]
    status, refused = api.apply(WEB, deployment(template=template), "you")
    field = '.spec.template.spec.containers[name="c"].args'
    assert status == 409
    assert [cause["field"] for cause in refused["details"]["causes"]] == [field]


def test_scale_owns_replicas(api: Api, deployment: Make) -> None:
    """A scaled Deployment conflicts with the applier by the subresource that changed it."""
    api.apply(WEB, deployment(), "me")
    api.ask("PATCH", f"{WEB}/scale", {"spec": {"replicas": 5}}, kind=MERGE, fieldManager="scaler")
    status, refused = api.apply(WEB, deployment(), "me")
    assert status == 409
    assert (
        'with "scaler" with subresource "scale" using apps/v1: .spec.replicas'
        in (refused["message"])
    )


def test_the_simulations_own_objects_have_an_owner_before_the_first_apply(api: Api) -> None:
    """A node that nobody has written conflicts as `before-first-apply`; new labels do not."""
    name = api.ask("GET", "/api/v1/nodes")[1]["items"][0]["metadata"]["name"]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    path = f"/api/v1/nodes/{name}"
    node["metadata"] = {"name": name, "labels": {"mine": "1"}}
    assert api.apply(path, node, "me")[0] == 200
    node["metadata"] = {"name": name, "labels": {"kubernetes.io/os": "plan9"}}
    status, refused = api.apply(path, node, "you")
    assert status == 409
    assert "before-first-apply" in refused["message"]


def test_kubectl_takes_over_its_own_client_side_apply(api: Api) -> None:
    """What kubectl applied on its own side before is no conflict for `kubectl --server-side`; what
    somebody has changed since is one.
    """
    said = _map({"a": "1", "b": "1"})
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(said)}
    made = _map({"a": "1", "b": "1"}, annotations=last)
    path = MAP.rpartition("/")[0]
    api.ask("POST", path, made, fieldManager="kubectl-client-side-apply")
    assert api.apply(MAP, _map({"a": "2"}), "other")[0] == 409
    status, taken = api.apply(MAP, _map({"a": "2", "b": "1"}), "kubectl")
    assert (status, taken["data"]) == (200, {"a": "2", "b": "1"})
    assert '"a":"2"' in next(iter(taken["metadata"]["annotations"].values()))
    api.ask("PATCH", MAP, {"data": {"b": "9"}}, kind=MERGE, fieldManager="hand")
    assert api.apply(MAP, _map({"a": "2", "b": "1"}), "kubectl")[0] == 409


@pytest.mark.parametrize(
    ("change", "query", "status"),
    [
        ({}, {"fieldManager": ""}, 422),
        ({"kind": "Secret"}, {}, 400),
        ({"metadata": {"name": "other"}}, {}, 400),
        ({"metadata": {"name": "m", "managedFields": [{"manager": "x"}]}}, {}, 400),
        ({"data": {"a": 1}}, {}, 500),
        ({"odd": {}}, {"fieldValidation": "Strict"}, 500),
        ({"odd": {}}, {}, 500),
    ],
)
def test_malformed_applies_are_refused(
    api: Api, change: dict[str, Any], query: dict[str, str], status: int
) -> None:
    """What cannot be applied is refused and writes nothing."""
    given = {"fieldManager": "me", **query}
    config = {**_map({"a": "1"}), **change}
    assert api.ask("PATCH", MAP, config, kind="application/apply-patch+yaml", **given)[0] == status
    assert api.ask("GET", MAP)[0] == 404


_values = st.text("ab", max_size=2)
_containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abc")},
        optional={"image": _values, "args": st.lists(_values, max_size=2)},
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda fixed_dictionary: fixed_dictionary["name"],
)
_specs = st.fixed_dictionaries(
    {}, optional={"containers": _containers, "nodeSelector": st.dictionaries(_values, _values)}
)
POD = root_of("", "v1", "Pod")
assert POD is not None


@settings(max_examples=60, deadline=None)
@given(_specs, _specs)
def test_merging_says_what_both_say(live: dict[str, Any], config: dict[str, Any]) -> None:
    """After a merge every field of the configuration is there with its value; FieldsV1 of its paths
    reads back as the same paths; removing them all leaves nothing of it.
    """
    assert POD is not None
    one, other = {"spec": live}, {"spec": config}
    result = merge_given(one, other, POD)
    paths = frozenset(owned_paths(other, POD))
    assert merge_given(result, other, POD) == result
    assert paths <= frozenset(owned_paths(result, POD)) | {("f:spec",)}
    assert frozenset(from_fields(to_fields(paths))) == paths
    assert not frozenset(owned_paths(remove_paths(other, POD, build_trie(paths)), POD)) & paths
