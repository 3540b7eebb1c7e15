"""Lists that are sent in pieces show what short ones show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.api.listing import BATCH, PAGE
from twin.api.messages import Request, Response, StreamedResponse
from twin.tests.api.conftest import Api

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
COUNT = 2 * PAGE + 3 * BATCH + 7


@pytest.fixture(scope="module")
def names() -> list[str]:
    """Return the names of all objects, in order."""
    return [f"m{number:05}" for number in range(COUNT)]


@pytest.fixture
def many(api: Api, names: list[str]) -> Api:
    """Return a cluster with more objects than are sent at once; every tenth is labelled."""
    for number, name in enumerate(names):
        labels = {"tenth": "yes"} if number % 10 == 0 else {}
        api.engine.store.create(
            "configmaps", "default", {"metadata": {"name": name, "labels": labels}}
        )
    return api


def list_objects(api: Api, accept: str = "application/json", **query: str) -> Any:
    """Return a list, however it is sent."""
    answer = api.router.handle(Request("GET", MAPS, query, {"accept": accept}))
    if isinstance(answer, StreamedResponse):
        content = b"".join(answer.chunks)
        answer.close()
    else:
        assert isinstance(answer, Response)
        content = answer.body
    return json.loads(content)


def pages(
    api: Api, member: str = "items", accept: str = "application/json", **query: str
) -> list[Any]:
    """Return all pages of a list."""
    found = [list_objects(api, accept, **query)]
    while token := found[-1]["metadata"].get("continue"):
        found.append(list_objects(api, accept, **{**query, "continue": token}))
        assert found[-1][member]
    return found


def names_of(items: list[Any]) -> list[str]:
    """Return the names of items or rows."""
    return [item.get("object", item)["metadata"]["name"] for item in items]


@pytest.mark.parametrize("limit", [PAGE + 1, BATCH * 3, COUNT - 1, COUNT, COUNT + 1, 10**9])
def test_long_pages_add_up(many: Api, names: list[str], limit: int) -> None:
    """Pages of any length hold every object once, in order, count what remains, and end."""
    actual = pages(many, limit=str(limit))

    assert [len(page["items"]) for page in actual[:-1]] == [limit] * (len(actual) - 1)
    assert names_of([item for page in actual for item in page["items"]]) == names
    left = [page["metadata"].get("remainingItemCount", 0) for page in actual]
    assert left[0] == max(0, COUNT - limit)
    assert left[-1] == 0
    assert {page["kind"] for page in actual} == {"ConfigMapList"}


@pytest.mark.parametrize("limit", ["1", "19", "100", "100000"])
def test_pages_of_a_selection_add_up(many: Api, names: list[str], limit: str) -> None:
    """A page of a selection is full although most of what it looks at is left out."""
    actual = pages(many, limit=limit, labelSelector="tenth=yes")

    assert names_of([item for page in actual for item in page["items"]]) == names[::10]
    assert all(len(page["items"]) == int(limit) for page in actual[:-1])
    assert len(actual[0]["items"]) == min(int(limit), len(names[::10]))


def test_a_long_list_without_pages(many: Api, names: list[str]) -> None:
    """Without a limit everything comes at once; a selection of nothing is an empty list."""
    assert names_of(list_objects(many)["items"]) == names
    assert list_objects(many, labelSelector="tenth=no")["items"] == []


def test_a_long_table(many: Api, names: list[str]) -> None:
    """A Table has its columns and a row for each object, whole or page by page."""
    whole = list_objects(many, TABLE)
    actual = pages(many, "rows", TABLE, limit=str(PAGE + 50))

    assert (whole["kind"], names_of(whole["rows"])) == ("Table", names)
    assert whole["columnDefinitions"] == actual[0]["columnDefinitions"]
    assert len(whole["rows"][0]["cells"]) == len(whole["columnDefinitions"])
    assert [row for page in actual for row in page["rows"]] == whole["rows"]


def test_pages_show_one_version(many: Api, names: list[str]) -> None:
    """What comes and goes while a long page is sent, or between two, is in none of them."""
    answer = many.router.handle(Request("GET", MAPS, {"limit": str(PAGE + 50)}))
    assert isinstance(answer, StreamedResponse)
    parts = [next(answer.chunks)]
    many.ask("POST", MAPS, {"metadata": {"name": "m00300x"}})
    many.ask("DELETE", f"{MAPS}/m00500")
    many.ask("DELETE", f"{MAPS}/m01000")
    first = json.loads(b"".join([*parts, *answer.chunks]))
    answer.close()
    rest = list_objects(many, limit="100000", **{"continue": first["metadata"]["continue"]})

    assert names_of([*first["items"], *rest["items"]]) == names
    assert first["metadata"]["resourceVersion"] == rest["metadata"]["resourceVersion"]
