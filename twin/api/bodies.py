"""Bodies of requests: read, and refused before anything acts on a malformed one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

from twin.api.messages import Object, Request
from twin.errors import ApiError, bad_request
from twin.kinds import Kind

DEEPEST = 64
MAPS = frozenset({
    "metadata", "spec", "template", "selector", "matchLabels", "labels", "annotations", "resources",
    "requests", "limits", "nodeSelector", "strategy", "rollingUpdate", "securityContext", "capacity",
    "allocatable", "overhead",
})  # fmt: skip
LISTS_OF_MAPS = frozenset(
    [
        "containers",
        "initContainers",
        "tolerations",
        "taints",
        "ownerReferences",
        "conditions",
        "matchExpressions",
    ]
)
LISTS = LISTS_OF_MAPS | frozenset({"values", "finalizers"})
"""Members that have one form wherever the kinds served here use their names."""


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
    """Return an object whose parts have the right form, null members left out as if never given.

    Raises:
        ApiError: 400, a part that must be an object or a list is something else, or it nests too
            deeply.
    """
    for name in ("metadata", "spec", "status"):
        map_of(obj, name)
    cleaned: Object = _cleaned(obj, "the object", 0)
    return cleaned


def _cleaned(value: Any, name: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise bad_request(f"{name} nests more than {DEEPEST} levels deep")
    if name in MAPS and not isinstance(value, dict):
        raise bad_request(f"{name} must be an object")
    if name in LISTS and not isinstance(value, list):
        raise bad_request(f"{name} must be a list")
    if isinstance(value, dict):
        kept = {key: each for key, each in value.items() if each is not None}
        return {key: _cleaned(each, key, depth + 1) for key, each in kept.items()}
    if isinstance(value, list):
        if name in LISTS_OF_MAPS and not all(isinstance(each, dict) for each in value):
            raise bad_request(f"{name} must hold objects")
        return [_cleaned(each, "", depth + 1) for each in value]
    return value


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
