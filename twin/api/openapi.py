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
from twin.api.openapi_paths import Refer, paths_of
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
_PACKAGES = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
_COMPONENTS = "#/components/schemas/"
"""Where schemas stand."""
_TYPED: dict[str, Schema] = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def document_v3(group: str, version: str, custom: Sequence[Kind] = ()) -> bytes:
    """Return a group version's OpenAPI 3 document."""
    return _document_v3(group, version, tuple(discovery.kinds_of(group, version, custom)))


@lru_cache(maxsize=64)
def _document_v3(group: str, version: str, kinds: tuple[Kind, ...]) -> bytes:
    schemas: dict[str, Schema] = {}
    for kind in kinds:
        gvk = {"group": group, "version": version, "kind": kind.kind}
        schemas |= _kind_schemas(kind, _COMPONENTS, gvk)

    refer = _reference(schemas, _COMPONENTS, kinds)
    custom = tuple(kind for kind in kinds if kind.custom is not None)
    paths = paths_of(group, version, custom, refer)
    return json_bytes(
        {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": paths,
            "components": {"schemas": schemas},
        }
    )


def _reference(schemas: dict[str, Schema], where: str, kinds: Sequence[Kind]) -> Refer:
    """Return what refers to the schema of a kind, and adds it to `schemas` where it is missing."""

    def refer(group: str, version: str, kind: str) -> Schema | None:
        name = schema_name(group, version, kind, kinds)
        if name is None:
            return None
        if name not in schemas:
            schemas.update(_more_schemas(group, version, kind, name, where))
        return {"$ref": f"{where}{name}"}

    return refer


def schema_name(group: str, version: str, kind: str, kinds: Iterable[Kind] = ()) -> str | None:
    """Return the name of a kind's schema, or of a list of it; None where there is none."""
    if kind in ("Status", "DeleteOptions"):
        return _name(message(f"meta.v1.{kind}"))
    single = kind.removesuffix("List")
    root = root_of(group, version, kind) or root_of(group, version, single)
    if root is not None and root.message is not None:
        return f"{_name(root.message).rpartition('.')[0]}.{kind}"
    if any(each.group == group and each.kind == single and each.custom for each in kinds):
        return ".".join((*reversed(group.split(".")), version, kind))
    return None


def _kind_schemas(kind: Kind, where: str, gvk: Schema) -> dict[str, Schema]:
    """Return the schemas of a kind and of all that it is made of."""
    if kind.custom is not None:
        return custom_schemas(kind, where, gvk)
    root = root_of(gvk["group"], gvk["version"], kind.kind)
    if root is None or root.message is None:
        return {f"foresail.{kind.kind}": _open(gvk)}
    return _tabled(root.message, where, gvk)


def _tabled(root: Message, where: str, gvk: Schema) -> dict[str, Schema]:
    schemas = {_name(each): _schema(each, where) for each in _reachable_messages(root)}
    schemas[_name(root)]["x-kubernetes-group-version-kind"] = [gvk]
    return schemas


def _more_schemas(group: str, version: str, kind: str, name: str, where: str) -> dict[str, Schema]:
    """Return the schemas of what is asked or answered and not kept: lists, options, reviews."""
    gvk = {"group": group, "version": version, "kind": kind}
    if kind in ("Status", "DeleteOptions"):
        return _tabled(message(f"meta.v1.{kind}"), where, {**gvk, "group": "", "version": "v1"})
    root = root_of(group, version, kind)
    if root is not None and root.message is not None:
        return _tabled(root.message, where, gvk)
    metadata = message("meta.v1.ListMeta")
    listed: Schema = {
        "type": "object",
        "description": "",
        "required": ["items"],
        "properties": {
            **_TYPED,
            "metadata": {"allOf": [{"$ref": f"{where}{_name(metadata)}"}], "description": ""},
            "items": {"type": "array", "items": {"$ref": f"{where}{name.removesuffix('List')}"}},
        },
        "x-kubernetes-group-version-kind": [gvk],
    }
    return {name: listed, _name(metadata): _schema(metadata, where)}


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
    return f"{_PACKAGES.get(package, f'io.k8s.api.{package}')}.{version}.{kind}"


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
