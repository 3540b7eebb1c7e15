"""What writing promises: versions, conflicts, dry runs, names, and refusals that change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import (
    APPLY,
    JSON,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    Place,
    config_map,
    deployment,
    pod,
)

ALL = {"dryRun": "All"}


def test_a_created_object_has_an_identity(place: Place) -> None:
    """The server gives uid, version and time, whatever the client claims."""
    body = config_map("a", key="value")
    body["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z"}
    made = place.make("configmaps", body)
    assert made["metadata"]["uid"] != "mine"
    assert made["metadata"]["creationTimestamp"] > "2020"
    assert int(made["metadata"]["resourceVersion"]) > 0
    assert place.ask("GET", "configmaps", "a").body == made


def test_a_name_is_taken_once(place: Place) -> None:
    """A second object of a name is 409 AlreadyExists, and names its kind."""
    place.make("configmaps", config_map("a"))
    response = place.ask("POST", "configmaps", body=config_map("a"))
    assert (response.status, response.reason) == (409, "AlreadyExists")
    assert response.body["details"] == {"name": "a", "kind": "configmaps"}
    assert response.body["message"] == 'configmaps "a" already exists'


def test_names_are_generated(place: Place) -> None:
    """With generateName each object gets the prefix and five letters of its own."""
    body = {"metadata": {"generateName": "task-"}}
    names = {place.make("configmaps", body)["metadata"]["name"] for _ in range(4)}
    assert len(names) == 4
    assert all(name.startswith("task-") and len(name) == 10 for name in names)


@pytest.mark.parametrize(
    ("resource", "name", "status"),
    [
        ("configmaps", "Upper", 422),
        ("configmaps", "under_score", 422),
        ("configmaps", "-a", 422),
        ("configmaps", "a.b-c.d", 201),
        ("configmaps", "a" * 253, 201),
        ("configmaps", "a" * 254, 422),
        ("configmaps", "", 422),
        ("configmaps", "a\n", 422),
        ("services", "1a", 201),
        ("services", "a.b", 422),
        ("services", "a" * 64, 422),
    ],
)
def test_names_are_checked(place: Place, resource: str, name: str, status: int) -> None:
    """A name has the form that its kind wants, or the field is named in a 422."""
    body: dict[str, Any] = {"metadata": {"name": name}}
    if resource == "services":
        body["spec"] = {"ports": [{"port": 80}]}
    response = place.ask("POST", resource, body=body, query=ALL)
    assert response.status == status, response.text
    if status == 422:
        causes = response.body["details"]["causes"]
        assert {cause["field"] for cause in causes} <= {"metadata.name"}


@pytest.mark.parametrize(
    "labels", [{"a": "b c"}, {"a": "-"}, {"-": "a"}, {"a/b/c": "d"}, {"a": "x" * 64}, {"": "a"}]
)
def test_labels_are_checked(place: Place, labels: dict[str, str]) -> None:
    """A label outside the rules is 422 and names metadata.labels."""
    response = place.ask("POST", "configmaps", body=config_map("a", labels))
    assert (response.status, response.reason) == (422, "Invalid"), response.text
    assert response.body["details"]["causes"][0]["field"] == "metadata.labels"
    assert place.ask("GET", "configmaps", "a").status == 404


def test_a_write_on_an_old_version_conflicts(place: Place) -> None:
    """PUT and PATCH that name an old version are 409 Conflict and change nothing."""
    old = place.make("configmaps", config_map("a", key="1"))
    fresh = place.ask("PUT", "configmaps", "a", body=config_map("a", key="2"))
    assert fresh.status == 200
    refused = place.ask("PUT", "configmaps", "a", body=old)
    assert (refused.status, refused.reason) == (409, "Conflict")
    assert refused.body["details"] == {"name": "a", "kind": "configmaps"}
    stale = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {}}
    for content_type in (MERGE, STRATEGIC):
        refused = place.ask("PATCH", "configmaps", "a", body=stale, content_type=content_type)
        assert (refused.status, refused.reason) == (409, "Conflict")
    assert place.ask("GET", "configmaps", "a").body == fresh.body


def test_a_write_of_what_is_there_changes_nothing(place: Place) -> None:
    """An update that changes nothing keeps the version and tells no watch."""
    made = place.make("configmaps", config_map("a", key="1"))
    since = place.version()
    for _ in range(2):
        response = place.ask("PUT", "configmaps", "a", body=made)
        assert response.version == made["metadata"]["resourceVersion"]
    same = {"data": {"key": "1"}}
    response = place.ask("PATCH", "configmaps", "a", body=same, content_type=MERGE)
    assert response.version == made["metadata"]["resourceVersion"]
    place.make("configmaps", config_map("b"))
    assert place.watch_changes("configmaps", since, 1) == [("ADDED", "b")]


def test_a_write_meant_for_another_object_conflicts(place: Place) -> None:
    """An update or a deletion that names another uid is 409."""
    place.make("configmaps", config_map("a"))
    body = config_map("a")
    body["metadata"]["uid"] = "00000000-0000-4000-8000-000000000000"
    assert place.ask("PUT", "configmaps", "a", body=body).status == 409
    options = {"preconditions": {"uid": body["metadata"]["uid"]}}
    refused = place.ask("DELETE", "configmaps", "a", body=options)
    assert (refused.status, refused.reason) == (409, "Conflict")
    old = {"preconditions": {"resourceVersion": "1"}}
    assert place.ask("DELETE", "configmaps", "a", body=old).status == 409
    assert place.ask("GET", "configmaps", "a").status == 200


def test_a_patch_with_another_uid_is_invalid(place: Place) -> None:
    """A uid cannot be patched, so naming another object's is 422; with an old version it is 409."""
    place.make("configmaps", config_map("a", key="1"))
    other = {"uid": "00000000-0000-4000-8000-000000000000"}
    for metadata, status in ((other, 422), ({**other, "resourceVersion": "1"}, 409)):
        body = {"metadata": metadata, "data": {"key": "2"}}
        refused = place.ask("PATCH", "configmaps", "a", body=body, content_type=MERGE)
        assert refused.status == status, refused.text
    assert place.ask("GET", "configmaps", "a").body["data"] == {"key": "1"}


def test_options_of_a_deletion_are_read_from_its_body(place: Place) -> None:
    """Beside a body the query is not read, dryRun included; without one it is."""
    place.make("configmaps", config_map("a"))
    dry = {"dryRun": "All"}
    assert place.ask("DELETE", "configmaps", "a", query=dry).status == 200
    assert place.ask("GET", "configmaps", "a").status == 200
    in_body = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    assert place.ask("DELETE", "configmaps", "a", body=in_body).status == 200
    assert place.ask("GET", "configmaps", "a").status == 200
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    assert place.ask("DELETE", "configmaps", "a", body=options, query=dry).status == 200
    assert place.ask("GET", "configmaps", "a").status == 404


def test_the_path_names_the_object(place: Place) -> None:
    """A body that names another object or namespace than its path is 400."""
    place.make("configmaps", config_map("a"))
    response = place.ask("PUT", "configmaps", "a", body=config_map("b"))
    assert (response.status, response.reason) == (400, "BadRequest")
    body = config_map("c")
    body["metadata"]["namespace"] = "elsewhere"
    assert place.ask("POST", "configmaps", body=body).status == 400
    body = config_map("d")
    body["metadata"]["resourceVersion"] = "1"
    assert place.ask("POST", "configmaps", body=body).status in {400, 500}
    assert [name for name in place.names("configmaps") if name != "kube-root-ca.crt"] == ["a"]


@pytest.mark.parametrize(
    ("method", "name", "body", "content_type", "query"),
    [
        ("POST", "", config_map("b"), JSON, ALL),
        ("PUT", "a", config_map("a", key="2"), JSON, ALL),
        ("PATCH", "a", {"data": {"key": "2"}}, MERGE, ALL),
        ("PATCH", "a", {"data": {"key": "2"}}, STRATEGIC, ALL),
        ("PATCH", "a", [{"op": "remove", "path": "/data"}], JSON_PATCH, ALL),
        (
            "PATCH",
            "new",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}},
            APPLY,
            {**ALL, "fieldManager": "suite"},
        ),
        ("DELETE", "a", None, JSON, ALL),
        ("DELETE", "a", {"dryRun": ["All"]}, JSON, {}),
        ("DELETE", "", None, JSON, ALL),
    ],
)
def test_a_dry_run_answers_and_changes_nothing(
    place: Place, method: str, name: str, body: Any, content_type: str, query: dict[str, str]
) -> None:
    """dryRun=All on every verb answers as the write would: no version, no event, no object."""
    made = place.make("configmaps", config_map("a", key="1"))
    since = place.version()
    response = place.ask(
        method, "configmaps", name, body=body, content_type=content_type, query=query
    )
    assert response.status in {200, 201}, response.text
    assert place.ask("GET", "configmaps", "a").body == made
    place.make("configmaps", config_map("z"))
    assert place.watch_changes("configmaps", since, 1) == [("ADDED", "z")]


def test_a_dry_run_is_checked_like_a_write(place: Place) -> None:
    """A dry run of an impossible write is refused with the same code."""
    place.make("configmaps", config_map("a"))
    assert place.ask("POST", "configmaps", body=config_map("a"), query=ALL).status == 409
    assert place.ask("POST", "configmaps", body=config_map("A"), query=ALL).status == 422
    assert place.ask("DELETE", "configmaps", "b", query=ALL).status == 404
    bad = deployment("web")
    bad["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    assert place.ask("POST", "deployments", body=bad, query=ALL).status == 422
    for word in ("all", "", "None"):
        response = place.ask("POST", "configmaps", body=config_map("b"), query={"dryRun": word})
        assert (response.status, response.reason) == (422, "Invalid"), response.text


def test_a_dry_run_shows_defaults(place: Place) -> None:
    """The answer of a dry run holds what the server would have filled in."""
    response = place.ask("POST", "deployments", body=deployment("web"), query=ALL)
    assert response.status == 201
    assert response.body["spec"]["strategy"]["type"] == "RollingUpdate"
    template = response.body["spec"]["template"]["spec"]
    assert (template["restartPolicy"], template["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert response.body["metadata"]["uid"]


def test_immutable_fields(place: Place) -> None:
    """A change of what may not change is 422 and names the field."""
    made = place.make("deployments", deployment("web"))
    del made["metadata"]["resourceVersion"]  # a controller may have written meanwhile
    made["spec"]["selector"]["matchLabels"] = {"app": "other"}
    made["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    response = place.ask("PUT", "deployments", "web", body=made)
    assert (response.status, response.reason) == (422, "Invalid"), response.text
    assert response.body["details"]["kind"] == "Deployment"
    assert response.body["details"]["group"] == "apps"
    assert "spec.selector" in {cause["field"] for cause in response.body["details"]["causes"]}
    place.make("pods", pod("p"))
    change = {"spec": {"restartPolicy": "Never"}}
    response = place.ask("PATCH", "pods", "p", body=change, content_type=MERGE)
    assert response.status == 422
    assert response.body["details"]["causes"][0]["reason"] == "FieldValueForbidden"
    fixed = {"immutable": True, **config_map("fixed", key="1")}
    place.make("configmaps", fixed)
    change = {"data": {"key": "2"}}
    response = place.ask("PATCH", "configmaps", "fixed", body=change, content_type=MERGE)
    assert response.status == 422


def test_what_is_missing_is_named(place: Place) -> None:
    """A required field that is absent is a cause of its own kind."""
    body = deployment("web")
    del body["spec"]["selector"]
    body["spec"]["template"]["spec"]["containers"] = [{"name": "c"}]
    response = place.ask("POST", "deployments", body=body)
    assert response.status == 422
    causes = {cause["field"]: cause["reason"] for cause in response.body["details"]["causes"]}
    assert causes["spec.selector"] == "FieldValueRequired"
    assert causes["spec.template.spec.containers[0].image"] == "FieldValueRequired"


@pytest.mark.parametrize(("mode", "status"), [("Strict", 400), ("Warn", 201), ("Ignore", 201)])
def test_unknown_fields(place: Place, mode: str, status: int) -> None:
    """fieldValidation=Strict refuses an unknown field by its path; otherwise it is dropped."""
    body = deployment("web")
    body["spec"]["replica"] = 3
    response = place.ask("POST", "deployments", body=body, query={"fieldValidation": mode})
    assert response.status == status, response.text
    if status == 400:
        assert 'unknown field "spec.replica"' in response.body["message"]
    else:
        assert "replica" not in response.body["spec"]
    if place.face.has_headers:
        assert ("warning" in response.headers) is (mode == "Warn")


def test_patches(place: Place) -> None:
    """Merge, strategic merge and JSON patches change what they say."""
    place.make("deployments", deployment("web"))
    side = {"name": "side", "image": "busybox:1"}
    change: Any = {"spec": {"template": {"spec": {"containers": [side]}}}}
    response = place.ask("PATCH", "deployments", "web", body=change, content_type=STRATEGIC)
    names = [
        container["name"] for container in response.body["spec"]["template"]["spec"]["containers"]
    ]
    assert sorted(names) == ["c", "side"]
    change["spec"]["template"]["spec"]["containers"][0]["$patch"] = "delete"
    response = place.ask("PATCH", "deployments", "web", body=change, content_type=STRATEGIC)
    assert len(response.body["spec"]["template"]["spec"]["containers"]) == 1
    change = {"metadata": {"annotations": {"a": "1"}}}
    response = place.ask("PATCH", "deployments", "web", body=change, content_type=MERGE)
    assert response.body["metadata"]["annotations"]["a"] == "1"
    change = {"metadata": {"annotations": {"a": None}}}
    response = place.ask("PATCH", "deployments", "web", body=change, content_type=MERGE)
    assert "a" not in response.body["metadata"].get("annotations", {})
    steps = [
        {"op": "test", "path": "/spec/replicas", "value": 0},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
        {"op": "add", "path": "/metadata/labels", "value": {"x": "y"}},
    ]
    response = place.ask("PATCH", "deployments", "web", body=steps, content_type=JSON_PATCH)
    assert (response.body["spec"]["replicas"], response.body["metadata"]["labels"]) == (
        2,
        {"x": "y"},
    )


@pytest.mark.parametrize(
    "steps",
    [
        [{"op": "test", "path": "/data/key", "value": "2"}],
        [{"op": "remove", "path": "/data/none"}],
        [{"op": "replace", "path": "/none/none", "value": 1}],
    ],
)
def test_json_patches_that_do_not_apply(place: Place, steps: Any) -> None:
    """A JSON patch whose test or path fails is 422 and changes nothing."""
    made = place.make("configmaps", config_map("a", key="1"))
    response = place.ask("PATCH", "configmaps", "a", body=steps, content_type=JSON_PATCH)
    assert (response.status, response.reason) == (422, "Invalid"), response.text
    assert place.ask("GET", "configmaps", "a").body == made


def test_the_server_keeps_what_clients_may_not_write(place: Place) -> None:
    """Generation counts changes of the spec alone, and identity survives a PUT without it."""
    made = place.make("deployments", deployment("web"))
    assert made["metadata"]["generation"] == 1
    body = deployment("web", 1)
    body["metadata"]["labels"] = {"x": "y"}
    found = place.ask("PUT", "deployments", "web", body=body).body
    assert found["metadata"]["generation"] == 2
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert found["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    labelled = {"metadata": {"labels": {"x": "z"}}}
    found = place.ask("PATCH", "deployments", "web", body=labelled, content_type=MERGE).body
    assert found["metadata"]["generation"] == 2


def test_apply_owns_what_it_says(place: Place) -> None:
    """Server-side apply creates, takes away what is no longer said, and refuses what others own."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    mine = {"fieldManager": "mine"}
    first = {**body, "data": {"x": "1", "y": "1"}}
    response = place.ask("PATCH", "configmaps", "a", body=first, content_type=APPLY, query=mine)
    assert response.status == 201, response.text
    second = {**body, "data": {"x": "1"}}
    response = place.ask("PATCH", "configmaps", "a", body=second, content_type=APPLY, query=mine)
    assert (response.status, response.body["data"]) == (200, {"x": "1"})
    other = {**body, "data": {"x": "2"}}
    theirs = {"fieldManager": "theirs"}
    refused = place.ask("PATCH", "configmaps", "a", body=other, content_type=APPLY, query=theirs)
    assert (refused.status, refused.reason) == (409, "Conflict")
    assert refused.body["details"]["causes"][0]["reason"] == "FieldManagerConflict"
    forced = {**theirs, "force": "true"}
    response = place.ask("PATCH", "configmaps", "a", body=other, content_type=APPLY, query=forced)
    assert (response.status, response.body["data"]) == (200, {"x": "2"})
    nobody = place.ask("PATCH", "configmaps", "a", body=other, content_type=APPLY)
    assert nobody.status == 422
