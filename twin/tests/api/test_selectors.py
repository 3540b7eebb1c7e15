"""What label selectors mean for objects with another value, an empty one, or none."""

from __future__ import annotations

import pytest

from twin.tests.api.conftest import Api

MAPS = "/api/v1/namespaces/default/configmaps"
LABELS = {"none": {}, "empty": {"k": ""}, "one": {"k": "1"}, "two": {"k": "2"}, "odd": {"k": "x"}}


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("k", "empty odd one two"),
        ("!k", "none"),
        ("k=", "empty"),
        ("k!=1", "empty none odd two"),
        ("k!=", "none odd one two"),
        ("k in (1,)", "empty one"),
        ("k notin (1,2)", "empty none odd"),
        ("k notin ()", "none odd one two"),
        ("k>1", "two"),
        ("k<2", "one"),
        ("k,k!=1,k notin (2)", "empty odd"),
    ],
)
def test_label_selectors(api: Api, selector: str, selected: str) -> None:
    """An absent key is unequal to everything and in no set; comparisons need a number."""
    for name, labels in LABELS.items():
        assert api.ask("POST", MAPS, {"metadata": {"name": name, "labels": labels}})[0] == 201
    response = api.ask("GET", MAPS, None, labelSelector=selector)[1]

    assert " ".join(item["metadata"]["name"] for item in response["items"]) == selected
