"""OpenAPI documents of what is served, made from the tables of fields.

`kubectl explain`, `apply`, `diff` and client-side validation read them: types, list keys, merge
keys and the query parameters of each path. Descriptions are not among the facts that the tables
hold; `kubectl explain` shows the fields without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from twin.api import discovery
from twin.api.messages import json_bytes
from twin.api.schema import Field, Message, message, root_of
from twin.kinds import Kind

Schema = dict[str, Any]
_PLAIN: dict[str, Schema] = {
    "string": {"type": "string"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "bool": {"type": "boolean"},
    "bytes": {"type": "string", "format": "byte"},
    "double": {"type": "number", "format": "double"},
    "Quantity": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "Time": {"type": "string", "format": "date-time"},
    "MicroTime": {"type": "string", "format": "date-time"},
    "Duration": {"type": "string"},
    "IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
    "FieldsV1": {"type": "object"},
    "Raw": {"type": "object"},
    "Extra": {"type": "array", "items": {"type": "string"}},
    "Any": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
_TYPED: dict[str, Schema] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
_QUERY = ("dryRun", "fieldManager", "fieldValidation")


def index(custom: Sequence[Kind] = ()) -> dict[str, Any]:
    """Return GET /openapi/v3: where each group's document is."""
    pairs = discovery.group_versions(custom)
    names = {"api/v1": "api/v1"} | {f"apis/{g}/{v}": f"apis/{g}/{v}" for g, v in pairs}
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in names}}


def document_v3(group: str, version: str, custom: Sequence[Kind] = ()) -> bytes:
    """Return a group version's OpenAPI 3 document."""
    return _document_v3(group, version, tuple(discovery.kinds_of(group, version, custom)))


@lru_cache(maxsize=64)
def _document_v3(group: str, version: str, kinds: tuple[Kind, ...]) -> bytes:
    schemas: dict[str, Schema] = {}
    paths: dict[str, Any] = {}
    for kind in kinds:
        gvk = {"group": group, "version": version, "kind": kind.kind}
        if kind.custom is not None:
            schemas |= custom_schemas(kind, "#/components/schemas/", gvk)
            paths |= _paths(kind, version, gvk)
            continue
        root = root_of(group, version, kind.kind)
        if root is None or root.message is None:
            schemas[f"foresail.{kind.kind}"] = _open(gvk)
        else:
            for each in _reachable_messages(root.message):
                schemas.setdefault(_name(each), _schema(each, "#/components/schemas/"))
            schema = schemas[_name(root.message)]
            schemas[_name(root.message)] = {**schema, "x-kubernetes-group-version-kind": [gvk]}
        paths |= _paths(kind, version, gvk)
    return json_bytes(
        {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": paths,
            "components": {"schemas": schemas},
        }
    )


def document_v2(custom: Sequence[Kind] = ()) -> bytes:
    """Return the OpenAPI 2 document of everything, without paths."""
    return _document_v2(tuple(discovery.all_kinds(custom)))


@lru_cache(maxsize=4)
def _document_v2(kinds: tuple[Kind, ...]) -> bytes:
    definitions: dict[str, Schema] = {}
    for kind in kinds:
        for version in (kind.version, *kind.other_versions):
            gvk = {"group": kind.group, "version": version, "kind": kind.kind}
            if kind.custom is not None:
                definitions |= custom_schemas(kind, "#/definitions/", gvk)
                continue
            root = root_of(kind.group, version, kind.kind)
            if root is None or root.message is None:
                definitions[f"foresail.{kind.kind}"] = _open(gvk)
                continue
            for each in _reachable_messages(root.message):
                definitions.setdefault(_name(each), _schema(each, "#/definitions/"))
            name = _name(root.message)
            definitions[name] = {**definitions[name], "x-kubernetes-group-version-kind": [gvk]}
    return json_bytes({"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": definitions})


_INFO = {"title": "Foresail embedded cluster", "version": discovery.VERSION["gitVersion"]}


def _reachable_messages(root: Message) -> list[Message]:
    """Return a message and all that it is made of, each once."""
    by_name: dict[str, Message] = {}
    todo = [root]
    while todo:
        message = todo.pop()
        if message.name not in by_name:
            by_name[message.name] = message
            todo += [
                field.message for field in message.fields.values() if field.message is not None
            ]
    return [by_name[name] for name in sorted(by_name)]


def _name(message: Message) -> str:
    package, version, kind = message.name.split(".")
    if package == "meta":
        return f"io.k8s.apimachinery.pkg.apis.meta.{version}.{kind}"
    return f"io.k8s.api.{package}.{version}.{kind}"


def _schema(message: Message, where: str) -> Schema:
    properties = {field.name: _place_schema(field, where) for field in message.fields.values()}
    schema: Schema = {
        "type": "object",
        "description": "",
        "properties": {**(_TYPED if message.typed else {}), **properties},
    }
    required = sorted(field.name for field in message.fields.values() if field.required)
    if required:
        schema["required"] = required
    if message.atomic:
        schema["x-kubernetes-map-type"] = "atomic"
    return schema


def _place_schema(field: Field, where: str) -> Schema:
    element_schema = _element_schema(field, where)
    if field.shape == "":
        return element_schema
    if field.shape == "{}":
        schema: Schema = {"type": "object", "additionalProperties": element_schema}
        return {**schema, **({"x-kubernetes-map-type": "atomic"} if field.atomic else {})}
    schema = {"type": "array", "items": element_schema}
    kind = "map" if field.keys else "set" if field.is_set else "atomic"
    schema["x-kubernetes-list-type"] = kind
    if field.keys:
        schema["x-kubernetes-list-map-keys"] = list(field.keys)
    if field.merges:
        schema["x-kubernetes-patch-strategy"] = "merge"
        if field.merge_key:
            schema["x-kubernetes-patch-merge-key"] = field.merge_key
    return schema


def _element_schema(field: Field, where: str) -> Schema:
    if field.message is None:
        return dict(_PLAIN[field.type])
    return {"allOf": [{"$ref": f"{where}{_name(field.message)}"}], "description": ""}


def _open(gvk: Schema) -> Schema:
    opened = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        **opened,
        "description": "",
        "properties": {**_TYPED, "metadata": opened, "spec": opened, "status": opened},
        "x-kubernetes-group-version-kind": [gvk],
    }


def custom_schemas(kind: Kind, where: str, gvk: Schema) -> dict[str, Schema]:
    """Return the schema of a custom kind, and that of metadata, which it refers to."""
    assert kind.custom is not None
    schema = dict(kind.custom.schema.source)
    metadata = message("meta.v1.ObjectMeta")
    own = {"metadata": {"allOf": [{"$ref": f"{where}{_name(metadata)}"}], "description": ""}}
    schema["properties"] = {**_TYPED, **(schema.get("properties") or {}), **own}
    schema["x-kubernetes-group-version-kind"] = [gvk]
    name = ".".join((*reversed(kind.group.split(".")), kind.version, kind.kind))
    return {
        name: schema,
        **{_name(each): _schema(each, where) for each in _reachable_messages(metadata)},
    }


def _paths(kind: Kind, version: str, gvk: Schema) -> Iterable[tuple[str, Any]]:
    prefix = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _QUERY]

    def operation(action: str, query: list[Any]) -> Schema:
        return {
            "parameters": query,
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk,
        }

    return {
        f"{prefix}/{kind.plural}": {"get": operation("list", [])},
        f"{prefix}{scope}/{kind.plural}": {
            "get": operation("list", []),
            "post": operation("post", parameters),
        },
        f"{prefix}{scope}/{kind.plural}/{{name}}": {
            "get": operation("get", []),
            "patch": operation("patch", parameters),
            "put": operation("put", parameters),
            "delete": operation("delete", []),
        },
    }.items()
