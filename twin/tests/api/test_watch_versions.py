"""Which version a watch begins at, and which one it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from twin.api.messages import Request, WatchResponse
from twin.tests.api.conftest import Api

MAPS = "/api/v1/namespaces/default/configmaps"


def begin_watch(api: Api, **query: str) -> WatchResponse:
    """Begin a watch of ConfigMaps."""
    answer = api.router.handle(Request("GET", MAPS, {"watch": "true", **query}))
    assert isinstance(answer, WatchResponse)
    return answer


def make(api: Api, *names: str) -> list[int]:
    """Create ConfigMaps; return their versions."""
    versions = []
    for name in names:
        status, made = api.ask("POST", MAPS, {"metadata": {"name": name}})
        assert status == 201
        versions.append(int(made["metadata"]["resourceVersion"]))
    return versions


def lines(content: bytes) -> list[dict[str, Any]]:
    """Read the lines of a watch."""
    return [json.loads(line) for line in content.splitlines()]


def test_the_first_bookmark_names_the_version_of_what_was_listed(api: Api) -> None:
    """A change that happens while initial objects are sent comes after the bookmark's version."""
    *_, listed = make(api, "a", "b")
    streaming = begin_watch(
        api,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    followed: list[bytes | None] = []
    stop = api.engine.store.subscribe(lambda change: followed.append(streaming.translate(change)))
    initial = iter(streaming.initial)
    first = lines(next(initial))
    (later,) = make(api, "c")
    (bookmark,) = lines(b"".join(initial))
    stop()

    assert [one["object"]["metadata"]["name"] for one in first] == ["a", "b"]
    assert bookmark["object"]["metadata"]["resourceVersion"] == str(listed)
    assert listed < later
    assert len(followed) == 1


def test_a_watch_from_the_future_begins_there(api: Api) -> None:
    """From a version that is not there yet only what comes after it arrives, as upstream."""
    (now,) = make(api, "a")
    ahead = begin_watch(api, resourceVersion=str(now + 3))
    seen: list[bytes] = []

    def take(change: Any) -> None:
        line = ahead.translate(change)
        if line is not None:
            seen.append(line)

    stop = api.engine.store.subscribe(take)
    versions = make(api, "b", "c", "d", "e", "f")
    stop()
    found = lines(b"".join([*ahead.initial, *seen]))

    assert [int(one["object"]["metadata"]["resourceVersion"]) for one in found] == [
        version for version in versions if version > now + 3
    ]
    assert len(found) == 2


def test_initial_objects_of_the_future_are_refused(api: Api) -> None:
    """A streaming list from a version that is not there yet gets one ERROR event: Timeout, 504."""
    (now,) = make(api, "a")
    refused = begin_watch(
        api,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        resourceVersion=str(now + 3),
    )
    (event,) = lines(b"".join(refused.initial))

    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    assert "Too large resource version" in event["object"]["message"]


@pytest.mark.parametrize("behind", [0, 1, 2])
def test_a_watch_resumes_behind_its_version(api: Api, behind: int) -> None:
    """From the version of a change on, exactly what came after that change arrives."""
    versions = make(api, "a", "b", "c")
    resumed = begin_watch(api, resourceVersion=str(versions[behind]))
    found = lines(b"".join(resumed.initial))

    assert [int(one["object"]["metadata"]["resourceVersion"]) for one in found] == versions[
        behind + 1 :
    ]
