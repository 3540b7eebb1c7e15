"""Pages about the server: in which forms they are had, what need not be read again, what OpenAPI says of paths."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import JSON, MERGE, Face, OverHttp, Place, config_map

PROTOBUF = "application/vnd.kubernetes.protobuf"
YAML = "application/yaml"
TABLE = f"{JSON};as=Table;v=v1;g=meta.k8s.io"
PARTIALS = f"{JSON};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
GROUPS = ";as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"
LATER_GROUPS = f"{JSON};as=APIGroupDiscoveryList;v=v3;g=apidiscovery.k8s.io"
V3 = "/openapi/v3/apis/apps/v1"
STORAGE = "/apis/storage.k8s.io/v1"
ANY_OF = (
    "only the following media types are accepted: application/json, application/yaml, " + PROTOBUF
)
FRAMEWORK = "406: Not Acceptable\n\nAvailable representations: "
ALL = f"application/json, application/yaml, {PROTOBUF}"


@pytest.mark.parametrize(
    ("path", "accept", "message"),
    [
        ("/version", "text/html", f"{FRAMEWORK}application/json"),
        ("/version", "application/cbor", f"{FRAMEWORK}application/json"),
        ("/version", TABLE, ""),
        ("/api", "text/html", FRAMEWORK + ALL),
        ("/api", TABLE, ANY_OF),
        ("/api", LATER_GROUPS, ANY_OF),
        ("/apis", "text/html", ANY_OF),
        ("/apis", f"text/html,{JSON}", ""),
        ("/apis/apps", "application/cbor", ANY_OF),
        ("/apis/apps", f"{JSON}{GROUPS}", ANY_OF),
        ("/apis/apps/v1", "application/cbor", FRAMEWORK + ALL),
        ("/api/v1", TABLE, ANY_OF),
    ],
)
def test_a_page_in_a_form_that_it_does_not_have(
    face: Face, path: str, accept: str, message: str
) -> None:
    """It is refused with the forms that it has; without a message it is there."""
    answer = face.ask("GET", path, accept=accept)
    assert answer.status == (406 if message else 200), answer.text
    if message:
        assert (answer.reason, answer.body["message"]) == ("NotAcceptable", message)


@pytest.mark.parametrize("accept", ["text/html", f"{JSON};as=Foo;v=v1;g=meta.k8s.io"])
@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
def test_the_form_is_looked_at_first(place: Place, method: str, accept: str) -> None:
    """Before an object is looked for, and before anything is written."""
    place.make("configmaps", config_map("kept"))
    body = None if method in ("GET", "DELETE") else config_map("kept", a="b")
    kind = MERGE if method == "PATCH" else JSON
    for name in ("kept", "none"):
        answer = place.ask(method, "configmaps", name, body=body, content_type=kind, accept=accept)
        assert answer.status == 406, answer.text
    assert "data" not in place.ask("GET", "configmaps", "kept").body


def test_a_watch_is_not_had_in_yaml(place: Place) -> None:
    """Its lines are JSON or protobuf."""
    query = {"watch": "true", "timeoutSeconds": "1"}
    answer = place.ask("GET", "configmaps", query=query, accept=YAML)
    assert answer.status == 406
    assert f"{JSON};stream=watch, {PROTOBUF};stream=watch" in answer.text.replace("\n  ", " ")


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/apply-patch+cbor"])
def test_a_patch_of_no_known_kind(place: Place, kind: str) -> None:
    """It is 415 in the words of a real server."""
    place.make("configmaps", config_map("kept"))
    answer = place.ask("PATCH", "configmaps", "kept", body={}, content_type=kind)
    assert (answer.status, answer.body["message"]) == (415, "415: Unsupported Media Type")


@pytest.mark.parametrize(
    ("path", "begins"),
    [
        ("/api", "k8s\0\n\x0f\n\0\x12\x0bAPIVersions"),
        ("/apis", "k8s\0\n\x12\n\x02v1\x12\x0cAPIGroupList"),
        ("/apis/apps", "k8s\0\n\x0e\n\x02v1\x12\x08APIGroup\x12$\n\x04apps\x12\r\n\x07apps/v1\x12\x02v1\x1a\r"),
        ("/apis/apps/v1", "k8s\0\n\x15\n\x02v1\x12\x0fAPIResourceList"),
        ("/api/v1", "k8s\0\n\x13\n\0\x12\x0fAPIResourceList"),
        ("/api/v1/componentstatuses", "k8s\0\n\x19\n\x02v1\x12\x13ComponentStatusList"),
    ],
)  # fmt: skip
def test_discovery_in_protobuf(over_http: Place, path: str, begins: str) -> None:
    """Who reads protobuf alone gets it, byte by byte."""
    answer = over_http.face.ask("GET", path, accept=PROTOBUF)
    assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
    assert answer.text.startswith(begins)


def test_aggregated_discovery_in_protobuf(over_http: Place) -> None:
    """With the form in its content type."""
    answer = over_http.face.ask("GET", "/apis", accept=f"{PROTOBUF}{GROUPS}")
    assert answer.headers["content-type"] == (
        f"{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    )
    assert "APIGroupDiscoveryList" in answer.text[:60]


@pytest.mark.parametrize("path", ["/api", "/apis", V3])
def test_a_page_is_not_read_again(over_http: Place, path: str) -> None:
    """Who names its Etag gets 304 without a body."""
    face = over_http.face
    assert isinstance(face, OverHttp)
    accept = f"{JSON}{GROUPS}" if "api" in path[:4] else JSON
    first = face.ask("GET", path, accept=accept)
    tag = first.headers["etag"]
    assert "Accept" in first.headers["vary"]
    again = face.ask_again(path, tag, accept)
    assert (again.status, again.text, again.headers["etag"]) == (304, "", tag)
    assert face.ask_again(path, '"other"', accept).status == 200


def test_an_openapi_document_is_named_by_its_content(face: Face) -> None:
    """The index has the hash in each address; that of another content leads to today's."""
    index = face.ask("GET", "/openapi/v3").body["paths"]
    where, _, digest = index["apis/apps/v1"]["serverRelativeURL"].partition("?hash=")
    assert where == V3
    assert len(digest) == 128
    assert digest != index["api/v1"]["serverRelativeURL"].partition("?hash=")[2]
    found = face.ask("GET", V3, query={"hash": digest})
    other = face.ask("GET", V3, query={"hash": "AB"})
    assert (found.status, other.status) == (200, 301)
    if face.has_headers:
        assert found.headers["cache-control"] == "public, immutable"
        assert found.headers["etag"] == f'"{digest}"'
        assert other.headers["location"] == f"{V3}?hash={digest}"


@pytest.mark.parametrize("accept", ["text/html", "application/cbor"])
def test_openapi_in_a_form_that_it_does_not_have(face: Face, accept: str) -> None:
    """It is refused without a word."""
    answer = face.ask("GET", V3, accept=accept)
    assert (answer.status, answer.text) == (406, "")


_OF_DRIVERS = (
    "Name AttachRequired:boolean PodInfoOnMount:boolean StorageCapacity:boolean TokenRequests "
    "RequiresRepublish:boolean Modes Age"
)
_ONE = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
_GVK = {"group": "apps", "version": "v1", "kind": "Deployment"}
_SCALE = {"group": "autoscaling", "version": "v1", "kind": "Scale"}


@pytest.mark.parametrize(
    ("path", "method", "action", "kind", "name"),
    [
        ("/apis/apps/v1/deployments", "get", "list", _GVK, "listAppsV1DeploymentForAllNamespaces"),
        (_ONE.removesuffix("/{name}"), "post", "post", _GVK, "createAppsV1NamespacedDeployment"),
        (_ONE.removesuffix("/{name}"), "delete", "deletecollection", _GVK,
         "deleteAppsV1CollectionNamespacedDeployment"),
        (_ONE, "get", "get", _GVK, "readAppsV1NamespacedDeployment"),
        (_ONE, "put", "put", _GVK, "replaceAppsV1NamespacedDeployment"),
        (_ONE, "patch", "patch", _GVK, "patchAppsV1NamespacedDeployment"),
        (f"{_ONE}/status", "patch", "patch", _GVK, "patchAppsV1NamespacedDeploymentStatus"),
        (f"{_ONE}/scale", "get", "get", _SCALE, "readAppsV1NamespacedDeploymentScale"),
    ],
)  # fmt: skip
def test_operations_say_what_they_are_about(
    face: Face, path: str, method: str, action: str, kind: dict[str, str], name: str
) -> None:
    """Kind, action, and the name that generated clients call it by."""
    operation = face.ask("GET", V3).body["paths"][path][method]
    assert operation["x-kubernetes-group-version-kind"] == kind
    assert (operation["x-kubernetes-action"], operation["operationId"]) == (action, name)


def test_schemas_that_operations_refer_to_are_there(face: Face) -> None:
    """Lists, options and refusals included, in every document."""
    for path in ("/openapi/v3/api/v1", V3, "/openapi/v3/apis/authorization.k8s.io/v1"):
        document = face.ask("GET", path).body
        named = set(document["components"]["schemas"])
        assert _references(document) <= {f"#/components/schemas/{each}" for each in named}
    assert {"io.k8s.api.authorization.v1.SubjectAccessReview"} <= named


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        (f"{STORAGE}/csidrivers", _OF_DRIVERS),
        (f"{STORAGE}/csinodes", "Name Drivers:integer Age"),
        (f"{STORAGE}/volumeattachments", "Name Attacher PV Node Attached:boolean Age"),
        ("/apis/resource.k8s.io/v1/resourceclaims", "Name State Age"),
        ("/apis/resource.k8s.io/v1/resourceslices", "Name Node Driver Pool Age"),
        ("/api/v1/componentstatuses", "Name Status Message Error"),
    ],
)  # fmt: skip
def test_tables_of_kinds_that_are_rarely_listed(face: Face, path: str, columns: str) -> None:
    """They have the columns of a real server, and metadata alone can be had, too."""
    heads = face.ask("GET", path, accept=TABLE).body["columnDefinitions"]
    assert columns.split() == [
        head["name"] + (f":{head['type']}" if head["type"] != "string" else "") for head in heads
    ]
    assert face.ask("GET", path, accept=PARTIALS).body["kind"] == "PartialObjectMetadataList"


def test_discovery_leaves_out_the_group_that_is_the_same(face: Face) -> None:
    """The kind of a resource is in the resource's own version unless it says another."""
    found = face.ask("GET", "/apis", accept=f"{JSON}{GROUPS}").body["items"]
    (apps,) = [group for group in found if group["metadata"]["name"] == "apps"]
    by_name = {each["resource"]: each for each in apps["versions"][0]["resources"]}
    kind = {"group": "", "version": "", "kind": "Deployment"}
    assert by_name["deployments"]["responseKind"] == kind
    assert _SCALE in [each["responseKind"] for each in by_name["deployments"]["subresources"]]
