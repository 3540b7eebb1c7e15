"""What refusals look like: code, reason, details, for whatever a client may send."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import JSON, MERGE, Place, config_map, deployment

YAML = "application/yaml"


def _is_status(found: Any, code: int, reason: str) -> None:
    assert (found.status, found.reason) == (code, reason), found.text
    body = found.body
    assert (body["kind"], body["apiVersion"], body["status"]) == ("Status", "v1", "Failure")
    assert (body["code"], body["metadata"]) == (code, {})
    assert body["message"]


def test_what_is_not_there_is_named(place: Place) -> None:
    """404 of an object names kind and object, with the group where there is one."""
    response = place.ask("GET", "configmaps", "nobody")
    _is_status(response, 404, "NotFound")
    assert response.body["details"] == {"name": "nobody", "kind": "configmaps"}
    assert response.body["message"] == 'configmaps "nobody" not found'
    response = place.ask("GET", "deployments", "nobody")
    assert response.body["details"] == {"name": "nobody", "group": "apps", "kind": "deployments"}
    assert response.body["message"] == 'deployments.apps "nobody" not found'
    for method in ("PUT", "PATCH", "DELETE"):
        body = {"PUT": config_map("nobody"), "PATCH": {}}.get(method)
        kind = MERGE if method == "PATCH" else JSON
        response = place.ask(method, "configmaps", "nobody", body=body, content_type=kind)
        _is_status(response, 404, "NotFound")


def test_a_namespace_that_is_not_there(place: Place) -> None:
    """Lists of a namespace that does not exist are empty; creating in it is 404 of the namespace."""
    path = "/api/v1/namespaces/no-such-namespace/configmaps"
    assert place.face.ask("GET", path).body["items"] == []
    response = place.face.ask("POST", path, body=config_map("a"))
    _is_status(response, 404, "NotFound")
    assert response.body["details"] == {"name": "no-such-namespace", "kind": "namespaces"}


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/nonsenses",
        "/api/v1/namespaces/default/nonsenses/x",
        "/apis/apps/v1/nonsenses",
        "/apis/apps/v9/deployments",
        "/apis/nonsense.example.com/v1/things",
        "/api/v2",
        "/nonsense",
    ],
)
def test_kinds_that_are_not_served(place: Place, path: str) -> None:
    """An unknown kind, version, group or path is 404."""
    assert place.face.ask("GET", path).status == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("PATCH", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/apis/apps/v1/namespaces/default/deployments/web/status"),
        ("POST", "/apis/apps/v1/namespaces/default/deployments/web/scale"),
    ],
)
def test_verbs_that_a_path_does_not_have(place: Place, method: str, path: str) -> None:
    """A verb that is not offered is 405."""
    body = {} if method != "DELETE" else None
    kind = MERGE if method == "PATCH" else JSON
    response = place.face.ask(method, path, body=body, content_type=kind)
    _is_status(response, 405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("method", "name", "content_type"),
    [
        ("POST", "", "text/plain"),
        ("POST", "", "application/xml"),
        ("PUT", "a", "text/plain"),
        ("PATCH", "a", JSON),
        ("PATCH", "a", "text/plain"),
        ("PATCH", "a", ""),
    ],
)
def test_content_types_that_are_not_read(
    place: Place, method: str, name: str, content_type: str
) -> None:
    """A body in another language is 415."""
    place.make("configmaps", config_map("a"))
    response = place.ask(
        method, "configmaps", name, body=config_map("a"), content_type=content_type
    )
    _is_status(response, 415, "UnsupportedMediaType")


def test_yaml_is_read(place: Place) -> None:
    """An object may come as YAML; a date in it stays a text."""
    text = b"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
  annotations: {day: "2026-01-01"}
  creationTimestamp: 2026-01-01T00:00:00Z
data:
  key: |
    two
    lines
"""
    response = place.ask("POST", "configmaps", body=text, content_type=YAML)
    assert response.status == 201, response.text
    assert response.body["data"] == {"key": "two\nlines\n"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"[]",
        b'"text"',
        b'{"metadata": []}',
        b'{"metadata": {"name": 5}}',
        b'{"metadata": {"name": "x"}, "data": {"a": 1}}',
        b'{"metadata": {"name": "x"}, "data": ["a"]}',
        b'{"metadata": {"name": "x", "labels": {"a": 1}}}',
        b'{"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "x"}}',
        b'{"kind": "ConfigMap", "apiVersion": "v2", "metadata": {"name": "x"}}',
        b"\xff\xfe",
    ],
)
def test_bodies_that_cannot_be_read(place: Place, body: bytes) -> None:
    """A body that is no object of the path's kind is 400, and nothing is stored."""
    response = place.ask("POST", "configmaps", body=body)
    _is_status(response, 400, "BadRequest")
    assert place.ask("GET", "configmaps", "x").status == 404


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("replicas", "three"),
        ("replicas", 1.5),
        ("replicas", []),
        ("template", []),
        ("selector", "app=web"),
        ("paused", "yes"),
    ],
)
def test_values_of_another_type(place: Place, path: str, value: Any) -> None:
    """A field with a value of another type is 400 and named."""
    body = deployment("web")
    body["spec"][path] = value
    response = place.ask("POST", "deployments", body=body)
    _is_status(response, 400, "BadRequest")
    assert "Deployment in version" in response.body["message"]


def test_a_body_that_is_too_large(over_http: Place) -> None:
    """A body of more than three MiB is 413, or refused as too large to store."""
    body = config_map("a", key="x" * 3_500_000)
    response = over_http.ask("POST", "configmaps", body=body)
    assert response.status == 413, response.text[:200]
    body = config_map("a", key="x" * 1_100_000)
    response = over_http.ask("POST", "configmaps", body=body)
    assert response.status == 422, response.text[:200]


def test_an_accept_that_cannot_be_met(over_http: Place) -> None:
    """A client that takes only what is not served is told so with 406."""
    response = over_http.ask("GET", "configmaps", accept="text/html")
    assert response.status == 406
    for accept in ("*/*", "application/json, */*", "text/html, application/json"):
        response = over_http.ask("GET", "configmaps", accept=accept)
        assert (response.status, response.body["kind"]) == (200, "ConfigMapList")


def test_nobody_gets_in_without_a_token(over_http: Place) -> None:
    """A wrong token is 401 Unauthorized."""
    path = over_http.path("configmaps")
    face: Any = over_http.face
    response = face.ask_as("nonsense", path)
    _is_status(response, 401, "Unauthorized")
