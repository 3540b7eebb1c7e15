"""What a watch promises: nothing twice, nothing missed, and a clear end when the past is gone."""

from __future__ import annotations

import threading

import pytest

from twin.tests.contract.faces import MERGE, Place, config_map

END = "k8s.io/initial-events-end"


def test_a_watch_resumes_where_it_was(place: Place) -> None:
    """From a version on, every later change arrives once and in order, in this namespace alone."""
    place.make("configmaps", config_map("before"))
    since = place.version()
    place.make("configmaps", config_map("a"))
    place.ask("PUT", "configmaps", "a", body=config_map("a", key="1"))
    place.make("configmaps", config_map("b"))
    place.ask("DELETE", "configmaps", "a")
    expected = [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert place.watch_changes("configmaps", since, 4) == expected
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "elsewhere"}}
    place.face.ask("POST", "/api/v1/namespaces/default/configmaps", body=other)
    assert place.watch_changes("configmaps", since, 4) == expected
    place.face.ask("DELETE", "/api/v1/namespaces/default/configmaps/elsewhere")


def test_versions_of_events_can_be_resumed_from(place: Place) -> None:
    """The version of an event's object is where a watch goes on after it."""
    since = place.version()
    for name in ("a", "b", "c"):
        place.make("configmaps", config_map(name))
    query = {"resourceVersion": since}
    events = place.face.events(place.path("configmaps"), query, 3)
    second = events[1]["object"]["metadata"]["resourceVersion"]
    assert place.watch_changes("configmaps", second, 1) == [("ADDED", "c")]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(set(versions))


def test_a_deleted_object_arrives_as_it_last_was(place: Place) -> None:
    """DELETED carries the last state, at the version of the deletion."""
    made = place.make("configmaps", config_map("a", key="last"))
    since = made["metadata"]["resourceVersion"]
    place.ask("DELETE", "configmaps", "a")
    query = {"resourceVersion": since}
    (event,) = place.face.events(place.path("configmaps"), query, 1)
    assert event["type"] == "DELETED"
    assert event["object"]["data"] == {"key": "last"}
    assert int(event["object"]["metadata"]["resourceVersion"]) > int(since)


def test_without_a_version_a_watch_begins_with_what_there_is(place: Place) -> None:
    """Without a version, and with 0, the objects of now come first as ADDED."""
    place.make("configmaps", config_map("a", {"mine": "yes"}))
    place.make("configmaps", config_map("b", {"mine": "yes"}))
    for query in ({}, {"resourceVersion": "0"}):
        expected = {"labelSelector": "mine=yes", **query}
        events = place.face.events(place.path("configmaps"), expected, 2)
        seen = {(event["type"], event["object"]["metadata"]["name"]) for event in events}
        assert seen == {("ADDED", "a"), ("ADDED", "b")}
        assert {event["object"]["kind"] for event in events} == {"ConfigMap"}


def test_selectors_turn_changes_into_coming_and_going(place: Place) -> None:
    """What starts to be selected is ADDED, what stops is DELETED, and others are not seen."""
    place.make("configmaps", config_map("a", {"mine": "no"}))
    place.make("configmaps", config_map("b", {"mine": "yes"}))
    since = place.version()
    for name, mine in (("a", "yes"), ("a", "yes2"), ("b", "no"), ("a", "no")):
        body = {"metadata": {"labels": {"mine": mine}}}
        response = place.ask("PATCH", "configmaps", name, body=body, content_type=MERGE)
        assert response.status == 200
    query = {"labelSelector": "mine in (yes,yes2)"}
    expected = [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "b"), ("DELETED", "a")]
    assert place.watch_changes("configmaps", since, 4, **query) == expected
    only = {"fieldSelector": "metadata.name=b"}
    assert place.watch_changes("configmaps", since, 1, **only) == [("MODIFIED", "b")]


def test_what_leaves_a_selection_says_goodbye_as_it_was(place: Place) -> None:
    """The DELETED event of a transition holds the selected state at the version of the change."""
    place.make("configmaps", config_map("a", {"mine": "yes"}))
    since = place.version()
    body = {"metadata": {"labels": {"mine": "no"}}}
    changed = place.ask("PATCH", "configmaps", "a", body=body, content_type=MERGE)
    query = {"resourceVersion": since, "labelSelector": "mine=yes"}
    (event,) = place.face.events(place.path("configmaps"), query, 1)
    assert event["object"]["metadata"]["labels"] == {"mine": "yes"}
    assert event["object"]["metadata"]["resourceVersion"] == changed.version


def test_initial_events_end_with_a_bookmark(place: Place) -> None:
    """Streaming lists send what there is, then a bookmark that says so, at a version to go on."""
    place.make("configmaps", config_map("a", {"mine": "yes"}))
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "labelSelector": "mine=yes",
    }
    first, last = place.face.events(place.path("configmaps"), query, 2)
    assert (first["type"], last["type"]) == ("ADDED", "BOOKMARK")
    assert last["object"]["metadata"]["annotations"] == {END: "true"}
    assert (last["object"]["kind"], last["object"]["apiVersion"]) == ("ConfigMap", "v1")
    since = last["object"]["metadata"]["resourceVersion"]
    place.make("configmaps", config_map("b"))
    assert place.watch_changes("configmaps", since, 1) == [("ADDED", "b")]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"sendInitialEvents": "true"}, 422),
        ({"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"}, 422),
        ({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, 422),
        ({"labelSelector": "a in b"}, 400),
        ({"fieldSelector": "data.x=1"}, 400),
    ],
)
def test_watches_that_cannot_be_understood(
    place: Place, query: dict[str, str], status: int
) -> None:
    """A watch with options that do not fit is refused before it begins."""
    response = place.ask(
        "GET", "configmaps", query={"watch": "true", "timeoutSeconds": "1", **query}
    )
    assert response.status == status, response.text


def test_a_watch_from_no_version_is_refused(place: Place) -> None:
    """A version that is no number is refused: with 400, or with 500 as by a real server."""
    query = {"watch": "true", "timeoutSeconds": "1", "resourceVersion": "x"}
    assert place.ask("GET", "configmaps", query=query).status in {400, 500}


def test_a_version_whose_past_is_gone(simulated_place: Place) -> None:
    """A version from before the kept changes gives one ERROR event, a Status with code 410."""
    if simulated_place.face.has_headers:
        pytest.skip("25,000 writes over HTTP take too long; the same code answers in process")
    since = simulated_place.version()
    simulated_place.make("configmaps", config_map("a"))
    body = config_map("a")
    for number in range(25_100):
        body["data"] = {"n": str(number)}
        assert simulated_place.ask("PUT", "configmaps", "a", body=body).status == 200
    query = {"resourceVersion": since}
    (event,) = simulated_place.face.events(simulated_place.path("configmaps"), query)
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")


def test_a_version_of_long_ago(over_http: Place) -> None:
    """Version 1 is never resumed from silently: it is all there, or it is an ERROR event of 410."""
    since = "1"
    over_http.make("configmaps", config_map("a"))
    events = over_http.face.events(over_http.path("configmaps"), {"resourceVersion": since}, 1)
    assert events[0]["type"] in {"ERROR", "ADDED"}
    if events[0]["type"] == "ERROR":
        assert events[0]["object"]["code"] == 410


def test_a_living_watch_follows(over_http: Place) -> None:
    """Changes reach an open watch as they happen, and timeoutSeconds ends it."""
    since = over_http.version()

    def write() -> None:
        over_http.make("configmaps", config_map("late"))

    writer = threading.Timer(0.2, write)
    writer.start()
    changes = over_http.watch_changes("configmaps", since, 1)
    writer.join()
    assert changes == [("ADDED", "late")]
    assert over_http.watch_changes("configmaps", over_http.version()) == []


@pytest.mark.parametrize(
    ("word", "watches"), [("True", True), ("1", True), ("", True), ("False", False), ("0", False)]
)
def test_flags_of_a_query(place: Place, word: str, watches: bool) -> None:
    """A flag is set by anything but false and 0, whatever a client's language calls true."""
    place.make("configmaps", config_map("a"))
    query = {"watch": word, "timeoutSeconds": "1", "fieldSelector": "metadata.name=a"}
    response = place.ask("GET", "configmaps", query=query)
    assert response.status == 200
    assert response.body.get("type") == ("ADDED" if watches else None)


def test_a_watch_of_one_object(place: Place) -> None:
    """A field selector by name watches one object alone."""
    place.make("configmaps", config_map("a"))
    place.make("configmaps", config_map("b"))
    since = place.version()
    place.ask("DELETE", "configmaps", "b")
    place.ask("DELETE", "configmaps", "a")
    query = {"fieldSelector": "metadata.name=a"}
    assert place.watch_changes("configmaps", since, 1, **query) == [("DELETED", "a")]


def test_a_watch_of_metadata_alone(over_http: Place) -> None:
    """Metadata informers get PartialObjectMetadata in every event."""
    since = over_http.version()
    over_http.make("configmaps", config_map("a", key="value"))
    query = {"resourceVersion": since, "watch": "true", "timeoutSeconds": "1"}
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    response = over_http.ask("GET", "configmaps", query=query, accept=accept)
    event = response.body
    assert event["object"]["kind"] == "PartialObjectMetadata"
    assert "data" not in event["object"]


def test_a_watch_that_cannot_be_is_refused(place: Place) -> None:
    """A version that is no number is 500, as upstream answers it; continuing a watch is 422."""
    for query, status in (({"resourceVersion": "abc"}, 500), ({"continue": "x"}, 422)):
        refused = place.ask("GET", "configmaps", query={**query, "watch": "true"})
        assert refused.status == status, refused.text
