"""Events, which come in two forms of the same objects."""

from __future__ import annotations

from typing import Any

from twin.tests.contract.faces import Place

STAMP = "2026-01-01T00:00:00.000000Z"


def test_an_event_is_shown_in_both_groups(place: Place) -> None:
    """What a new recorder posts, an old reader finds by its own names, and the other way round."""
    path = f"/apis/events.k8s.io/v1/namespaces/{place.namespace}/events"
    about = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": place.namespace}
    new: dict[str, Any] = {
        "metadata": {"name": "new"},
        "regarding": about,
        "reason": "Seen",
        "note": "it was seen",
        "action": "See",
        "type": "Normal",
        "eventTime": STAMP,
        "reportingController": "example.com/tester",
        "reportingInstance": "one",
    }
    made = place.face.ask("POST", path, body=new)
    assert made.status == 201, made.text
    assert (made.body["apiVersion"], made.body["note"]) == ("events.k8s.io/v1", "it was seen")
    old = place.ask("GET", "events", "new").body
    assert (old["apiVersion"], old["message"]) == ("v1", "it was seen")
    assert old["involvedObject"]["name"] == "p"
    assert old["reportingComponent"] == "example.com/tester"
    query = {"fieldSelector": "involvedObject.name=p"}
    assert place.names("events", **query) == ["new"]
    posted = {
        "metadata": {"name": "old"},
        "involvedObject": about,
        "reason": "Seen",
        "message": "seen before",
        "type": "Normal",
        "source": {"component": "tester"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 2,
    }
    place.make("events", posted)
    shown = place.face.ask("GET", f"{path}/old").body
    assert (shown["note"], shown["deprecatedCount"]) == ("seen before", 2)
    assert shown["deprecatedSource"] == {"component": "tester"}
    listed = place.face.ask("GET", path).body
    assert listed["apiVersion"] == "events.k8s.io/v1"
    assert [item["metadata"]["name"] for item in listed["items"]] == ["new", "old"]
    assert place.face.ask("DELETE", f"{path}/new").status == 200
