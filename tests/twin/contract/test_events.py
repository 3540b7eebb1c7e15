"""Events, which come in two forms of the same objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.twin.contract.faces import MERGE, Place

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


def _event(place: Place, **fields: Any) -> dict[str, Any]:
    about = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": place.namespace}
    return {
        "metadata": {"name": "e"}, "regarding": about, "reason": "Seen", "note": "it was seen", "action": "See",
        "type": "Normal", "eventTime": STAMP, "reportingController": "example.com/tester",
        "reportingInstance": "one", **fields,
    }  # fmt: skip


IMMUTABLE = "field is immutable"
REFERENCE = '"Name":"p","UID":"","APIVersion":"v1","ResourceVersion":"","FieldPath":""'


@pytest.mark.parametrize(("change", "field", "shown"), [
    ({"note": "other"}, "message", '"other"'),
    ({"reason": "Other"}, "reason", '"Other"'),
    ({"type": "Warning"}, "type", '"Warning"'),
    ({"action": "Look"}, "action", '"Look"'),
    ({"reportingInstance": "two"}, "reportingInstance", '"two"'),
    ({"deprecatedCount": 3}, "count", "3"),
    ({"eventTime": None}, "eventTime", "null"),
    ({"deprecatedSource": {"host": "h"}}, "source", '{"Component":"","Host":"h"}'),
    ({"regarding": {"kind": "Node"}}, "involvedObject", f'{{"Kind":"Node","Namespace":"HOME",{REFERENCE}}}'),
])  # fmt: skip
def test_what_an_event_says_stays(
    place: Place, change: dict[str, Any], field: str, shown: str
) -> None:
    """Through the newer group; a series may be added, and labels changed."""
    path = f"/apis/events.k8s.io/v1/namespaces/{place.namespace}/events"
    assert place.face.ask("POST", path, body=_event(place)).status == 201
    answer = place.face.ask("PATCH", f"{path}/e", body=change, content_type=MERGE)
    assert answer.status == 422, answer.text
    said = f"{field}: Invalid value: {shown}: {IMMUTABLE}".replace("HOME", place.namespace)
    assert answer.body["message"] == f'Event "e" is invalid: {said}'
    assert "group" not in answer.body["details"]
    series = {"series": {"count": 2, "lastObservedTime": STAMP}, "metadata": {"labels": {"a": "b"}}}
    assert place.face.ask("PATCH", f"{path}/e", body=series, content_type=MERGE).status == 200
    older = {"message": "through the older group it may"}
    assert place.ask("PATCH", "events", "e", body=older, content_type=MERGE).status == 200


@pytest.mark.parametrize(("change", "message"), [
    ({"deprecatedSource": {"component": "x"}}, 'source: Invalid value: "": needs to be unset'),
    ({"regarding": {"kind": "Node"}}, 'involvedObject.namespace: Invalid value: "": does not match event.namespace'),
    ({"action": ""}, "action: Required value"),
    ({"series": {"count": 1, "lastObservedTime": STAMP}}, 'series.count: Invalid value: "": should be at least 2'),
])  # fmt: skip
def test_an_event_that_is_refused(place: Place, change: dict[str, Any], message: str) -> None:
    """By its own name, as if it were of no group; what it is about may be in any namespace."""
    path = f"/apis/events.k8s.io/v1/namespaces/{place.namespace}/events"
    answer = place.face.ask("POST", path, body=_event(place, **change))
    assert (answer.status, answer.body["message"]) == (422, f'Event "e" is invalid: {message}')
    elsewhere = _event(place, regarding={"kind": "Pod", "namespace": "elsewhere"})
    made = place.face.ask("POST", path, body=elsewhere)
    assert made.status == 201, made.text
    assert "f:deprecatedFirstTimestamp" not in made.body["metadata"]["managedFields"][0]["fieldsV1"]
