"""Requests of every sort, one line each, with the status, reason and fields of the answer."""

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
)
from twin.tests.contract.field_rows import words_of

YAML = "application/yaml"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
PARTIAL = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
PARTIALS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
CM = "/api/v1/namespaces/{}/configmaps"
A = f"{CM}/a"
WEB = "/apis/apps/v1/namespaces/{}/deployments/web"
BIG = {"metadata": {"name": "b"}, "data": {"a": "x" * (1 << 20), "b": "y"}}
_OWNERS = [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": name, "controller": True}
           for name in ("x", "y")]  # fmt: skip


def _named(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "b", **metadata}}


def _step(op: str, path: str, **more: Any) -> list[dict[str, Any]]:
    return [{"op": op, "path": path, **more}]


def _of_containers(*containers: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": list(containers)}}}}


ROWS: list[tuple[Any, ...]] = [
    # what a body may be
    ("POST", CM, "422 Invalid metadata.name FieldValueRequired", b"null"),
    ("POST", CM, "400 BadRequest", b"[]"),
    ("POST", CM, "400 BadRequest", b"{"),
    ("POST", CM, "500", _named(resourceVersion="5")),
    ("POST", CM, "422 Invalid fieldValidation FieldValueNotSupported", _named(), JSON, {"fieldValidation": "strict"}),
    ("POST", CM, "422 Invalid dryRun FieldValueNotSupported", _named(), JSON, {"dryRun": "all"}),
    ("POST", CM, "422 Invalid data[a] FieldValueInvalid", {**config_map("b", a="1"), "binaryData": {"a": "AAAA"}}),
    ("POST", CM, "400 BadRequest", {"metadata": {"name": "b"}, "binaryData": {"a": "!!"}}),
    ("POST", CM, "422 Invalid [] FieldValueTooLong", BIG),
    ("POST", CM, "201", b"metadata: {name: b}", YAML),
    ("POST", CM, "415 UnsupportedMediaType", b"{}", JSON_PATCH),
    # metadata
    ("POST", CM, "422 Invalid metadata.generateName FieldValueInvalid metadata.name FieldValueInvalid",
     {"metadata": {"generateName": "Up_"}}),
    ("POST", CM, "422 Invalid metadata.labels FieldValueInvalid", _named(labels={"x/y/z": "1"})),
    ("POST", CM, "422 Invalid metadata.labels FieldValueInvalid", _named(labels={"/x": "1"})),
    ("POST", CM, "422 Invalid metadata.finalizers[0] FieldValueInvalid", _named(finalizers=["bad"])),
    ("POST", CM, "422 Invalid metadata.finalizers FieldValueInvalid", _named(finalizers=["a/b/c"])),
    ("POST", CM, "422 Invalid metadata.ownerReferences FieldValueInvalid", _named(ownerReferences=_OWNERS)),
    ("POST", CM, "422 Invalid metadata.ownerReferences.uid FieldValueInvalid",
     _named(ownerReferences=[{**_OWNERS[0], "uid": ""}])),
    ("POST", CM, "422 Invalid metadata.ownerReferences FieldValueInvalid",
     _named(ownerReferences=[{**_OWNERS[0], "kind": "Event"}])),
    ("PUT", A, "422 Invalid metadata.deletionTimestamp FieldValueInvalid",
     {"metadata": {"name": "a", "deletionTimestamp": "2020-01-01T00:00:00Z"}}),
    ("PUT", A, "200", {"metadata": {"name": "a", "resourceVersion": "0"}}),
    ("PUT", A, "500", {"metadata": {"name": "a", "resourceVersion": "abc"}}),
    ("PUT", A, "409 Conflict", {"metadata": {"name": "a", "resourceVersion": "1"}}),
    # patches
    ("PATCH", A, "200", _step("replace", "/data/none", value="1"), JSON_PATCH),
    ("PATCH", A, "422 Invalid", _step("remove", "/data/none"), JSON_PATCH),
    ("PATCH", A, "422 Invalid", _step("test", "/data/key", value="2"), JSON_PATCH),
    ("PATCH", A, "422 Invalid patch FieldValueInvalid", _step("add", "/data/n", value=1), JSON_PATCH),
    ("PATCH", A, "422 Invalid patch FieldValueInvalid", _step("replace", "/kind", value="Secret"), JSON_PATCH),
    ("PATCH", A, "422 Invalid patch FieldValueInvalid", _step("add", "/bogus", value=1), JSON_PATCH,
     {"fieldValidation": "Strict"}),
    ("PATCH", A, "400 BadRequest", _step("remove", "/metadata"), JSON_PATCH),
    ("PATCH", A, "400 BadRequest", _step("replace", "", value={}), JSON_PATCH),
    ("PATCH", A, "422 Invalid patch FieldValueInvalid", {"data": {"key": 1}}, MERGE),
    ("PATCH", A, "422 Invalid patch FieldValueInvalid", {"data": "x"}, MERGE),
    ("PATCH", A, "400 BadRequest", b"[]", MERGE),
    ("PATCH", A, "500", {"metadata": {"resourceVersion": "abc"}}, MERGE),
    ("PATCH", A, "422 Invalid force FieldValueForbidden", {}, MERGE, {"force": "true"}),
    ("PATCH", A, "200", b"null", STRATEGIC),
    ("PATCH", A, "400 BadRequest", {"$patch": "delete"}, STRATEGIC),
    ("PATCH", A, "500", {"data": {"$patch": "odd", "a": "b"}}, STRATEGIC),
    ("PATCH", WEB, "500", _of_containers({"image": "x"}), STRATEGIC),
    ("PATCH", WEB, "422 Invalid patch FieldValueInvalid", {"spec": {"replicas": "x"}}, STRATEGIC),
    ("PATCH", WEB, "422 Invalid spec.replicas FieldValueInvalid", {"spec": {"replicas": -1}}, STRATEGIC),
    ("PATCH", A, "422 Invalid fieldManager FieldValueRequired", {}, APPLY),
    # reading
    ("GET", A, "500", None, JSON, {"resourceVersion": "abc"}),
    ("GET", A, "504 Timeout  ResourceVersionTooLarge", None, JSON, {"resourceVersion": "999999999"}),
    ("GET", CM, "400 BadRequest", None, JSON, {"limit": "x"}),
    ("GET", CM, "400 BadRequest", None, JSON, {"labelSelector": "x in"}),
    ("GET", CM, "400 BadRequest", None, JSON, {"fieldSelector": "data.key=a"}),
    ("GET", CM, "422 Invalid resourceVersionMatch FieldValueForbidden", None, JSON, {"resourceVersionMatch": "Exact"}),
    ("GET", CM, "406 NotAcceptable", None, JSON, {}, PARTIAL),
    ("GET", CM, "200", None, JSON, {}, PARTIALS),
    ("GET", A, "406 NotAcceptable", None, JSON, {}, PARTIALS),
    ("GET", CM, "400 BadRequest", None, JSON, {"includeObject": "Odd"}, TABLE),
    ("GET", "/api/v1/pods", "200", None, JSON, {"fieldSelector": "status.podIPs=1.2.3.4"}),
    ("GET", "/apis/apps/v1/replicasets", "400 BadRequest", None, JSON, {"fieldSelector": "status.replicas=1"}),
    ("GET", "/apis/events.k8s.io/v1/events", "200", None, JSON, {"fieldSelector": "regarding.name=x"}),
    ("GET", "/apis/events.k8s.io/v1/events", "400 BadRequest", None, JSON, {"fieldSelector": "involvedObject.name=x"}),
    # deleting
    ("DELETE", A, "400 BadRequest", {"kind": "Odd", "apiVersion": "v1"}),
    ("DELETE", A, "422 Invalid propagationPolicy FieldValueNotSupported", {"propagationPolicy": "Odd"}),
    ("DELETE", A, "422 Invalid propagationPolicy FieldValueInvalid",
     {"propagationPolicy": "Orphan", "orphanDependents": True}),
    ("DELETE", A, "409 Conflict", {"preconditions": {"uid": "other"}}),
    # subresources and namespaces
    ("GET", "/api/v1/namespaces/{}/finalize", "405 MethodNotAllowed"),
    ("PATCH", "/api/v1/namespaces/{}/status", "422 Invalid status.Phase FieldValueInvalid",
     {"status": {"phase": "Odd"}}, MERGE),
    ("PUT", "/api/v1/namespaces/{}/finalize", "200",
     {"metadata": {"name": "{}"}, "spec": {"finalizers": ["kubernetes"]}}),
    # the server itself
    ("GET", "/readyz", "200"),
    ("GET", "/livez/ping", "200"),
    ("GET", "/readyz/nonsense", "404"),
    ("GET", "/nonsense", "404"),
    ("GET", "/apis/nonsense.example.com/v1/things", "404"),
    ("GET", "/apis/apps/v9", "404 NotFound"),
    ("POST", "/version", "405 MethodNotAllowed", {}),
]  # fmt: skip
"""Method, path, answer, and then body, content type, query and what is accepted."""


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row[0]} {row[1].rpartition('/')[2]} {row[2]}"
)
def test_requests_are_answered_as_by_a_real_server(place: Place, row: tuple[Any, ...]) -> None:
    """A request gets the status, the reason and the named fields of a real server's answer."""
    method, path, wanted, body, content_type, query, accept = (
        *row,
        *(None, JSON, {}, JSON)[len(row) - 3 :],
    )
    place.make("configmaps", config_map("a", key="1"))
    if "deployments" in path:
        place.make("deployments", deployment("web"))
    if isinstance(body, dict) and body.get("metadata", {}).get("name") == "{}":
        body = {**body, "metadata": {"name": place.namespace}}
    answer = place.face.ask(
        method,
        path.replace("{}", place.namespace),
        query=query,
        body=body,
        content_type=content_type,
        accept=accept,
    )
    assert words_of(answer) == wanted, answer.text


def test_health_in_words(place: Place) -> None:
    """Health checks name what they checked, and can leave some of it out."""
    for root in ("healthz", "livez", "readyz"):
        answer = place.face.ask("GET", f"/{root}", query={"verbose": ""})
        assert "[+]ping ok\n" in answer.text
        assert answer.text.endswith(f"{root} check passed\n")
    answer = place.face.ask("GET", "/readyz", query={"verbose": "", "exclude": "log"})
    assert "[+]log excluded: ok\n" in answer.text


def test_discovery_in_a_real_servers_order(place: Place) -> None:
    """Groups, resources and hashes of what is kept are listed as clients know them."""
    groups = [group["name"] for group in place.face.ask("GET", "/apis").body["groups"]]
    known = [
        name
        for name in groups
        if name in ("apps", "events.k8s.io", "autoscaling", "batch", "networking.k8s.io", "policy")
    ]
    assert known == ["apps", "events.k8s.io", "autoscaling", "batch", "networking.k8s.io", "policy"]
    served = place.face.ask("GET", "/apis/apps/v1").body["resources"]
    assert [one["name"] for one in served] == sorted(one["name"] for one in served)
    hashes = {one["name"]: one.get("storageVersionHash") for one in served}
    assert (hashes["deployments"], hashes["deployments/status"]) == ("8aSe+NMegvE=", None)
    (namespaces,) = [
        one
        for one in place.face.ask("GET", "/api/v1").body["resources"]
        if one["name"] == "namespaces"
    ]
    assert "deletecollection" not in namespaces["verbs"]


def test_a_later_policy_replaces_the_earlier_one(place: Place) -> None:
    """A second deletion with another propagation policy takes the finalizer of the first away."""
    body = config_map("a")
    body["metadata"]["finalizers"] = ["example.com/held"]
    place.make("configmaps", body)
    for policy, finalizer in (("Foreground", "foregroundDeletion"), ("Orphan", "orphan")):
        found = place.ask("DELETE", "configmaps", "a", body={"propagationPolicy": policy})
        assert found.body["metadata"]["finalizers"] == ["example.com/held", finalizer]
    found = place.ask("DELETE", "configmaps", "a", body={"propagationPolicy": "Background"})
    assert found.body["metadata"]["finalizers"] == ["example.com/held"]


def test_new_items_of_a_strategic_patch_come_in_its_order(place: Place) -> None:
    """Items that a patch adds follow those it changes, before others that the list has."""
    body = deployment("web")
    body["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": name, "value": "1"} for name in "AB"
    ]
    place.make("deployments", body)
    added = {"name": "c", "env": [{"name": "A", "value": "2"}, {"name": "C", "value": "3"}]}
    found = place.ask(
        "PATCH", "deployments", "web", body=_of_containers(added), content_type=STRATEGIC
    )
    (container,) = found.body["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in container["env"]] == ["A", "C", "B"]


def test_members_that_are_given_twice_are_told_with_their_path(place: Place) -> None:
    """A strict write names the whole path of a member that is there twice."""
    text = b'{"metadata": {"name": "b"}, "data": {"a": "1", "a": "2"}}'
    refused = place.ask("POST", "configmaps", body=text, query={"fieldValidation": "Strict"})
    assert refused.status == 400
    assert 'duplicate field "data.a"' in refused.body["message"]


def test_a_dry_creation_has_no_version(place: Place) -> None:
    """What is created for nothing but the answer has a uid and no resourceVersion."""
    made = place.ask("POST", "configmaps", body=config_map("a"), query={"dryRun": "All"})
    assert "resourceVersion" not in made.body["metadata"]
    assert made.body["metadata"]["uid"]
