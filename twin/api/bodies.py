"""Bodies of requests: read, and refused before anything acts on a malformed one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from twin.api.messages import Object, Request
from twin.errors import ApiError, bad_request
from twin.kinds import Kind


def object_of(request: Request, kind: Kind) -> Object:
    """Read an object of a kind; raises ApiError 400 or 415."""
    obj = json_of(request)
    given = (obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
    if given != (kind.api_version, kind.kind):
        raise bad_request(
            f"the object provided is {given[0]} {given[1]}, this path serves {kind.api_version} {kind.kind}"
        )
    return sound(obj)


def sound(obj: Object) -> Object:
    """Return an object whose parts have the right form; raises ApiError 400."""
    for name in ("metadata", "spec", "status"):
        map_of(obj, name)
    if not isinstance((obj.get("spec") or {}).get("taints") or [], list):
        raise bad_request("spec.taints must be a list")
    return obj


def map_of(owner: Object, name: str) -> Object:
    """Return a part that must be an object; empty when absent. Raises ApiError 400."""
    value = owner.get(name)
    if value is not None and not isinstance(value, dict):
        raise bad_request(f"{name} must be an object")
    return value or {}


def whole_seconds(value: Any) -> int:
    """Read a number of seconds; raises ApiError 400."""
    if not str(value).isdecimal():
        raise bad_request(f"{value!r} is not a whole number of seconds")
    return int(value)


def json_of(request: Request) -> Object:
    """Read a body; raises ApiError 400, and 415 for protobuf."""
    content_type = request.headers.get("content-type", "application/json")
    if "protobuf" in content_type:
        message = (
            "the embedded cluster reads JSON and YAML, not protobuf; use `kubectl apply -f` or "
            "`create -f` with a manifest instead of an imperative create"
        )
        raise ApiError(415, "UnsupportedMediaType", message)
    try:
        content = (
            yaml.safe_load(request.body)
            if "yaml" in content_type
            else json.loads(request.body or b"{}")
        )
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"the body cannot be read: {error}") from error
    if not isinstance(content, dict):
        raise bad_request("the body must be an object")
    return content


def check_namespace(obj: Mapping[str, Any], namespace: str | None) -> None:
    """Raise ApiError 400 when object and path name different namespaces."""
    given = (obj.get("metadata") or {}).get("namespace")
    if given and namespace and given != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request: "
            f"{given}, {namespace}"
        )
