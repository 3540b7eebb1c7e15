"""JSON patch, merge patch and strategic merge patch, against what the standards and upstream say."""

from __future__ import annotations

from typing import Any

import pytest

from twin.api.json_patch import apply_json_patch
from twin.api.patching import JSON_PATCH, MERGE, STRATEGIC, apply_patch
from twin.api.schema import root_of
from twin.errors import ApiError

POD = root_of("", "v1", "Pod")
DEPLOYMENT = root_of("apps", "v1", "Deployment")


def _strategic(obj: dict[str, Any], patch: dict[str, Any]) -> Any:
    return apply_patch(obj, STRATEGIC, patch, POD)


@pytest.mark.parametrize(
    ("document", "steps", "result"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"l": [1, 3]}, [{"op": "add", "path": "/l/1", "value": 2}], {"l": [1, 2, 3]}),
        ({"l": [1]}, [{"op": "add", "path": "/l/-", "value": 2}], {"l": [1, 2]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a/b": {"~": 1}}, [{"op": "replace", "path": "/a~1b/~0", "value": 2}], {"a/b": {"~": 2}}),
        ({"a": {"x": 1}, "b": {}}, [{"op": "move", "from": "/a/x", "path": "/b/y"}],
         {"a": {}, "b": {"y": 1}}),
        ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
        ({"a": 1}, [{"op": "test", "path": "/a", "value": 1},
                    {"op": "replace", "path": "/a", "value": 2}], {"a": 2}),
        ({"a": 1}, [{"op": "test", "path": "/b", "value": None}], {"a": 1}),
        ({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 1}}], {"b": 1}),
    ],
)  # fmt: skip
def test_json_patch(document: Any, steps: Any, result: Any) -> None:
    """Each operation of RFC 6902 does what the standard says; the original stays as it was."""
    before = repr(document)
    assert apply_json_patch(document, steps) == result
    assert repr(document) == before


@pytest.mark.parametrize(
    "step",
    [
        {"op": "remove", "path": "/no"},
        {"op": "replace", "path": "/no/no", "value": 1},
        {"op": "add", "path": "/l/9", "value": 1},
        {"op": "add", "path": "/l/01", "value": 1},
        {"op": "remove", "path": "/l/-"},
        {"op": "test", "path": "/a", "value": 2},
        {"op": "move", "from": "/l", "path": "/l/0"},
        {"op": "add", "path": "a", "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "odd", "path": "/a"},
        {"path": "/a"},
    ],
)
def test_json_patch_that_does_not_fit(step: dict[str, Any]) -> None:
    """A step that does not fit is 422, and names itself."""
    with pytest.raises(ApiError) as refused:
        apply_json_patch({"a": 1, "l": [1]}, [step])
    assert refused.value.status == 422


def test_merge_patch_is_rfc_7396() -> None:
    """Null removes, objects merge, lists are replaced."""
    live = {"a": {"x": 1, "y": 2}, "l": [1, 2]}
    assert apply_patch(live, MERGE, {"a": {"x": None}, "l": [3]}, POD) == {"a": {"y": 2}, "l": [3]}


def test_strategic_lists_merge_by_their_key() -> None:
    """Containers merge by name, deeper lists by their own keys, tolerations are replaced; what is new
    comes before what follows what the patch has.
    """
    live = {
        "spec": {
            "containers": [
                {"name": "a", "image": "1", "env": [{"name": "X", "value": "1"}]},
                {"name": "b", "image": "1"},
            ],
            "tolerations": [{"key": "k"}],
        }
    }
    patch = {
        "spec": {
            "containers": [{"name": "a", "env": [{"name": "Y", "value": "2"}]}],
            "tolerations": [{"key": "other"}],
        }
    }
    spec = _strategic(live, patch)["spec"]
    assert [container["name"] for container in spec["containers"]] == ["a", "b"]
    assert [one["name"] for one in spec["containers"][0]["env"]] == ["Y", "X"]
    assert spec["containers"][0]["image"] == "1"
    assert spec["tolerations"] == [{"key": "other"}]


def test_strategic_directives() -> None:
    """`$patch`, `$deleteFromPrimitiveList`, `$setElementOrder` and `$retainKeys` are obeyed."""
    live = {
        "metadata": {"finalizers": ["a", "b"]},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeSelector": {"x": "1"}},
    }
    assert [{"name": "b"}] == _strategic(
        live, {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}
    )["spec"]["containers"]
    assert [{"name": "c"}] == _strategic(
        live, {"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}}
    )["spec"]["containers"]
    assert {"y": "2"} == _strategic(
        live, {"spec": {"nodeSelector": {"$patch": "replace", "y": "2"}}}
    )["spec"]["nodeSelector"]
    assert ["b"] == _strategic(live, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})[
        "metadata"
    ]["finalizers"]
    assert ["c", "a", "b"] == _strategic(live, {"metadata": {"finalizers": ["c"]}})["metadata"][
        "finalizers"
    ]
    ordered = _strategic(
        live,
        {
            "spec": {
                "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}, {"name": "b"}],
                "containers": [{"name": "c"}],
            }
        },
    )
    assert [container["name"] for container in ordered["spec"]["containers"]] == ["c", "a", "b"]
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    changed = apply_patch(
        {"spec": {"strategy": strategy}},
        STRATEGIC,
        {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}},
        DEPLOYMENT,
    )
    assert changed == {"spec": {"strategy": {"type": "Recreate"}}}


def test_strategic_patch_without_its_key_is_refused() -> None:
    """An item that does not say which one it means is 500, as on a real server."""
    with pytest.raises(ApiError) as refused:
        _strategic({"spec": {"containers": []}}, {"spec": {"containers": [{"image": "x"}]}})
    assert refused.value.status == 500


def test_kinds_without_tables_take_no_strategic_patch() -> None:
    """A custom resource answers 415 to a strategic patch, as on a real server."""
    with pytest.raises(ApiError) as refused:
        apply_patch({}, STRATEGIC, {}, None)
    assert refused.value.status == 415
    assert apply_json_patch({}, []) == apply_patch({}, JSON_PATCH, [], None)
