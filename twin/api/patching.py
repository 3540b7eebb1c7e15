"""Patches: JSON merge (RFC 7396), strategic merge with the merge keys of the kinds we serve, JSON
patch (RFC 6902), and apply as a merge.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import yaml

from twin.errors import ApiError, bad_request

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

MERGE_KEYS: Mapping[str, str] = {
    "conditions": "type",
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "ports": "containerPort",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "taints": "key",
    "ownerReferences": "uid",
    "addresses": "type",
    "imagePullSecrets": "name",
}
"""List fields that strategic merge merges by a key; every other list is replaced (tolerations are
atomic).
"""
_DIRECTIVE = "$patch"


def patched(obj: dict[str, Any], content_type: str, body: bytes) -> dict[str, Any]:
    """Return a patched copy; raises ApiError 400, 415 or 422."""
    kind = content_type.partition(";")[0].strip()
    if kind not in {MERGE, STRATEGIC, JSON_PATCH, APPLY}:
        message = (
            f"the body of the request was in an unknown format - accepted media types include: {JSON_PATCH}, {MERGE}, "
            f"{STRATEGIC}, {APPLY}"
        )
        raise ApiError(415, "UnsupportedMediaType", message)
    change = _read(body, kind)
    result = copy.deepcopy(obj)
    if kind == JSON_PATCH:
        return _json_patch(result, change)
    if not isinstance(change, dict):
        raise bad_request("a merge patch must be an object")
    merged = merge(result, change) if kind == MERGE else strategic(result, change)
    assert isinstance(merged, dict)
    return merged


def merge(target: Any, change: Any) -> Any:
    """Merge by RFC 7396: null removes, objects merge, everything else is replaced."""
    if not isinstance(change, dict):
        return change
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in change.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), value)
    return result


def strategic(target: Any, change: Any, field: str = "") -> Any:
    """Merge strategically: lists with a merge key are merged by it, `$patch: delete` removes an
    entry.
    """
    if isinstance(change, dict):
        if change.get(_DIRECTIVE) == "replace":
            return {name: value for name, value in change.items() if name != _DIRECTIVE}
        result = dict(target) if isinstance(target, dict) else {}
        for name, value in change.items():
            if name.startswith(("$setElementOrder/", "$retainKeys")):
                continue
            if name.startswith("$deleteFromPrimitiveList/"):
                own = name.partition("/")[2]
                result[own] = [item for item in result.get(own, []) if item not in value]
            elif value is None:
                result.pop(name, None)
            else:
                result[name] = strategic(result.get(name), value, name)
        return result
    if isinstance(change, list) and field in MERGE_KEYS:
        return _merge_list(target if isinstance(target, list) else [], change, MERGE_KEYS[field])
    return change


def _merge_list(target: list[Any], change: list[Any], key: str) -> list[Any]:
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in change):
        return [item for item in change if item.get(_DIRECTIVE) != "replace"]
    result = list(target)
    for item in change:
        if not isinstance(item, dict) or key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        place = next((place for place, own in enumerate(result) if own.get(key) == item[key]), None)
        if item.get(_DIRECTIVE) == "delete":
            if place is not None:
                del result[place]
        elif place is None:
            result.append(item)
        else:
            result[place] = strategic(result[place], item)
    return result


def _read(body: bytes, kind: str) -> Any:
    try:
        return yaml.safe_load(body) if kind == APPLY else json.loads(body)
    except (ValueError, yaml.YAMLError) as error:
        raise bad_request(f"the patch cannot be read: {error}") from error


def _json_patch(obj: dict[str, Any], steps: Any) -> dict[str, Any]:
    if not isinstance(steps, list):
        raise bad_request("a JSON patch must be a list of operations")
    for step in steps:
        try:
            _step(obj, step)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            message = (
                f"the server rejected our request due to an error in our request: {step}: {error}"
            )
            raise ApiError(422, "Invalid", message) from error
    return obj


def _step(obj: Any, step: Mapping[str, Any]) -> None:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
    parent = obj
    for part in parts[:-1]:
        parent = parent[int(part)] if isinstance(parent, list) else parent[part]
    last, operation = parts[-1], step["op"]
    if isinstance(parent, list):
        place = len(parent) if last == "-" else int(last)
        if operation == "add":
            parent.insert(place, step["value"])
        elif operation == "replace":
            parent[place] = step["value"]
        elif operation == "remove":
            del parent[place]
        elif operation == "test" and parent[place] != step["value"]:
            raise ValueError("test failed")
    elif operation in {"add", "replace"}:
        if operation == "replace" and last not in parent:
            raise KeyError(last)
        parent[last] = step["value"]
    elif operation == "remove":
        del parent[last]
    elif operation == "test":
        if parent.get(last) != step["value"]:
            raise ValueError("test failed")
    else:
        raise ValueError(f"operation {operation} is not supported")
