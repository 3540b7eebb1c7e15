"""JSON patch is RFC 6902, with the two liberties that API servers take."""

from __future__ import annotations

from typing import Any

import pytest

from twin.api.json_patch import apply_json_patch
from twin.errors import ApiError

DOCUMENT = {"a": {"b": [1, 2]}, "on": True}


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"op": "replace", "path": "/a/new", "value": 3}, {"a": {"b": [1, 2], "new": 3}}),
        ({"op": "replace", "path": "/a/b/0", "value": 3}, {"a": {"b": [3, 2]}}),
        ({"op": "add", "path": "/a/b/-", "value": 3}, {"a": {"b": [1, 2, 3]}}),
        ({"op": "test", "path": "/none/at/all", "value": None}, {}),
        ({"op": "test", "path": "/none"}, {}),
        ({"op": "copy", "from": "/a/b", "path": "/a~1b"}, {"a/b": [1, 2]}),
        ({"op": "move", "from": "/a/b", "path": "/a"}, {"a": [1, 2]}),
    ],
)
def test_a_step_that_fits(step: dict[str, Any], expected: dict[str, Any]) -> None:
    """`replace` adds what is missing in an object, null is what is missing; the document given stays as it is."""
    assert apply_json_patch(DOCUMENT, [step]) == {**DOCUMENT, **expected}
    assert DOCUMENT == {"a": {"b": [1, 2]}, "on": True}


@pytest.mark.parametrize(
    "step",
    [
        {},
        {"op": "zap", "path": "/a"},
        {"op": ["add"], "path": "/a", "value": 1},
        {"op": "add", "path": 1, "value": 1},
        {"op": "add", "path": "/a"},
        {"op": "add", "path": "/a/b/3", "value": 1},
        {"op": "replace", "path": "/a/b/2", "value": 1},
        {"op": "replace", "path": "/none/b", "value": 1},
        {"op": "remove", "path": ""},
        {"op": "remove", "path": "/a/b/-"},
        {"op": "copy", "path": "/c"},
        {"op": "move", "from": "/a", "path": "/a/c"},
        {"op": "test", "path": "/a/b/0", "value": None},
        {"op": "test", "path": "/on", "value": 1},
    ],
)
def test_a_step_that_does_not_fit(step: dict[str, Any]) -> None:
    """Is 422, whatever is wrong with it, and no refusal repeats the document."""
    with pytest.raises(ApiError) as raised:
        apply_json_patch({**DOCUMENT, "long": "x" * 10_000}, [step])
    assert (raised.value.status, raised.value.reason) == (422, "Invalid")
    assert len(raised.value.message) < 400
