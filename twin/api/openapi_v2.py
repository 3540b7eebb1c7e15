"""The paths of OpenAPI 2, from those of OpenAPI 3: bodies are parameters, and forms stand by each operation.

Source: kubernetes/kubernetes api/openapi-spec/swagger.json (what kube-apiserver 1.36.2 answers; its shared
parameters are written out here).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twin.api.messages import JSON

Object = dict[str, Any]
_YAML, _PROTOBUF = "application/yaml", "application/vnd.kubernetes.protobuf"
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_UNAUTHORIZED = {"401": {"description": "Unauthorized"}}
_ANSWERS = {
    "post": {"200": "OK", "201": "Created", "202": "Accepted"},
    "put": {"200": "OK", "201": "Created"},
    "patch": {"200": "OK", "201": "Created"},
    "delete": {"200": "OK", "202": "Accepted"},
}
"""Codes of answers with an object by verb; 200 alone for the others."""


def paths_v2(group: str, version: str, paths: Object, *, custom: frozenset[str]) -> Object:
    """Return the paths of a group and version in the form of OpenAPI 2; `custom` are plurals without protobuf."""
    return {path: _item(path, item, _tag(group, version), custom) for path, item in paths.items()}


def _item(path: str, item: Object, tag: str, custom: frozenset[str]) -> Object:
    words = path.split("/")
    plain = any(word in custom for word in words)
    made: Object = {
        method: _operation(item[method], tag, method, plain=plain)
        for method in _METHODS
        if method in item
    }
    names = [name for name in ("name", "namespace") if f"{{{name}}}" in words]
    inside = [{**_parameter(name, "path", "string"), "required": True} for name in names]
    return {**made, "parameters": [*inside, _parameter("pretty", "query", "string")]}


def _operation(operation: Object, tag: str, method: str, *, plain: bool) -> Object:
    """Return an operation; a `plain` one is not spoken in protobuf."""
    action = operation["x-kubernetes-action"]
    forms = [JSON, _YAML, *(() if plain else (_PROTOBUF,))]
    streams = [f"{form};stream=watch" for form in forms if form != _YAML]
    if action == "connect":
        return _connection(operation, tag)
    body = operation.get("requestBody")
    patches = list(body["content"]) if body and method == "patch" else []
    taken = patches or (forms[:2] if plain else ["*/*"])
    parameters = [*_bodies(body, method), *(_query(one) for one in operation["parameters"])]
    return {
        "consumes": taken,
        "produces": [*forms, *(streams if action == "list" else ())],
        "schemes": ["https"],
        "tags": [tag],
        "operationId": operation["operationId"],
        **({"parameters": parameters} if parameters else {}),
        "responses": _responses(operation, method, action),
        **{key: value for key, value in operation.items() if key.startswith("x-kubernetes-")},
    }


def _connection(operation: Object, tag: str) -> Object:
    """Return an operation that opens a connection: anything goes in and out."""
    answers = {"200": {"description": "OK", "schema": {"type": "string"}}, **_UNAUTHORIZED}
    return {
        "consumes": ["*/*"],
        "produces": ["*/*"],
        "schemes": ["https"],
        "tags": [tag],
        "operationId": operation["operationId"],
        "responses": answers,
        **{key: value for key, value in operation.items() if key.startswith("x-kubernetes-")},
    }


def _bodies(body: Object | None, method: str) -> Iterator[Object]:
    if body is None:
        return
    schema = {"type": "object"} if method == "patch" else _schema(body)
    needed = {} if method == "delete" else {"required": True}
    yield {"name": "body", "in": "body", **needed, "schema": schema or {"type": "object"}}


def _responses(operation: Object, method: str, action: str) -> Object:
    answers = {"200": "OK"} if action == "deletecollection" else _ANSWERS.get(method, {"200": "OK"})
    schema = _schema(operation["responses"]["200"])
    said = {"schema": schema} if schema else {}
    rows = {code: {"description": text, **said} for code, text in answers.items()}
    return {**rows, **_UNAUTHORIZED}


def _schema(content: Object) -> Object | None:
    """Return the schema of a body, where there is one."""
    schema: Object | None = (content["content"].get(JSON) or {}).get("schema")
    return schema


def _query(parameter: Object) -> Object:
    return _parameter(parameter["name"], parameter["in"], parameter["schema"]["type"])


def _parameter(name: str, place: str, kind: str) -> Object:
    return {"uniqueItems": True, "type": kind, "name": name, "in": place}


def _tag(group: str, version: str) -> str:
    """Return what a real server gathers operations under: `rbacAuthorization_v1`."""
    first, *rest = group.removesuffix(".k8s.io").split(".") if group else ["core"]
    return "".join([first, *(word[:1].upper() + word[1:] for word in rest)]) + f"_{version}"
