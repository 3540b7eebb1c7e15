"""Patches: JSON merge (RFC 7396), strategic merge by the tables of the kinds, JSON patch (RFC 6902).

Server-side apply has its own rules (`twin.api.ownership`).
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from twin.api.go_json import go_text, syntax_error, wrong_value
from twin.api.json_patch import apply_json_patch
from twin.api.limits import MOST_PATCH_VALUES, MOST_VALUES, read_json, read_yaml
from twin.api.messages import Object, Request
from twin.api.schema import ANY, Field
from twin.errors import ApiError, bad_request
from twin.merging import merge_patch

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
_ALL = (JSON_PATCH, MERGE, STRATEGIC, APPLY)
_DIRECTIVE = "$patch"
_ORDER = "$setElementOrder/"
_DROPPED = "$deleteFromPrimitiveList/"
_KEPT = "$retainKeys"
_GONE = object()
SHOWN = 500
"""Characters of a patch that a refusal repeats."""


def not_strategic() -> ApiError:
    """415 of a strategic merge into a custom resource, which has no table to merge by."""
    kinds = f"{JSON_PATCH}, {MERGE}, {APPLY}"
    why = "the body of the request was in an unknown format - accepted media types include: "
    return ApiError(415, "UnsupportedMediaType", why + kinds)


def kind_of_patch(content_type: str) -> str:
    """Return the media type of a patch; raises ApiError 415."""
    kind = content_type.partition(";")[0].strip()
    if kind not in _ALL:
        raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
    return kind


def read_patch(request: Request, kind: str, *, values: int = MOST_VALUES) -> Any:
    """Read the patch of a request; raises ApiError 400 or 413."""
    if request.fault is not None:
        raise request.fault
    try:
        if kind == APPLY:
            return read_yaml(request.body, values=values)
        most = max(values, MOST_PATCH_VALUES) if kind == JSON_PATCH else values
        return read_json(request.body, values=most)
    except yaml.YAMLError as error:
        raise broken_yaml(error) from error
    except (ValueError, RecursionError) as error:
        if kind == APPLY:
            raise bad_request(f"error decoding YAML: {error}") from error
        why = syntax_error(request.body)
        raise bad_request(why if kind == STRATEGIC else f"error decoding patch: {why}") from error


def broken_yaml(error: yaml.YAMLError) -> ApiError:
    """400 of an applied text that is no YAML: what is wrong, and in which line but the first, as libyaml counts."""
    problem = str(getattr(error, "problem", "") or getattr(error, "reason", "") or error)
    mark = getattr(error, "problem_mark", None)
    line = 0 if mark is None else mark.line
    if line and isinstance(error, yaml.scanner.ScannerError):
        line += 1
    why = f"line {line}: {problem}" if line else problem
    return bad_request(f"error decoding YAML: error converting YAML to JSON: yaml: {why}")


def apply_patch(obj: Object, kind: str, patch: Any, place: Field | None) -> Any:
    """Return a patched copy of an object whose schema is at `place` (None: no schema).

    Raises:
        ApiError: 400, 413, 415 or 422.
    """
    if kind == JSON_PATCH:
        return apply_json_patch(obj, patch)
    if kind == STRATEGIC and patch is None:
        return obj
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not isinstance(patch, dict):
        why = wrong_value(patch, "map[string]interface {}")
        raise bad_request(why if kind == STRATEGIC else f"error decoding patch: {why}")
    if kind == MERGE:
        return merge_patch(obj, patch)
    if place is None:
        raise ApiError(
            415,
            "UnsupportedMediaType",
            "strategic merge needs a built-in kind; use application/merge-patch+json",
        )
    return strategic_merge(obj, patch, place)


def strategic_merge(target: Any, change: Any, place: Field = ANY) -> Any:
    """Merge strategically: lists with a merge key are merged by it; directives begin with `$`."""
    if isinstance(change, list) and place.shape == "[]" and place.merges:
        return _merge_list(target if isinstance(target, list) else [], change, place, None)
    if not isinstance(change, dict) or (place.shape == "[]" and isinstance(target, list)):
        return change
    directive = change.get(_DIRECTIVE)
    rest = {name: value for name, value in change.items() if name != _DIRECTIVE}
    if directive == "replace":
        return rest
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise ApiError(
            500, "", f"unknown patch type: {directive} in map: {go_text(change)[:SHOWN]}"
        )
    return _merge_object(dict(target) if isinstance(target, dict) else {}, rest, place)


def _merge_object(result: Object, change: Object, place: Field) -> Object:
    retained_keys = change.get(_KEPT)
    if isinstance(retained_keys, list):
        result = {name: value for name, value in result.items() if name in retained_keys}
    orders = {
        name[len(_ORDER) :]: value for name, value in change.items() if name.startswith(_ORDER)
    }
    for name, value in change.items():
        if name.startswith(_DROPPED) and isinstance(value, list):
            own = name[len(_DROPPED) :]
            listed = result.get(own)
            if isinstance(listed, list):
                deleted = {_text(item) for item in value}
                result[own] = [item for item in listed if _text(item) not in deleted]
    for name, value in change.items():
        if name.startswith("$"):
            continue
        child = place.child(name)
        if isinstance(value, dict) and _DIRECTIVE in value and name not in result:
            continue  # as upstream: there is nothing to direct
        if value is None:
            result.pop(name, None)
        elif isinstance(value, list) and child.shape == "[]" and child.merges:
            live = result.get(name)
            if live is None and not any(_directs(item) for item in value):
                result[name] = value  # as upstream: there is nothing to merge with
            else:
                result[name] = _merge_list(
                    live if isinstance(live, list) else [], value, child, orders.get(name)
                )
        else:
            result[name] = strategic_merge(result.get(name), value, child)
    _apply_orders(result, change, orders, place)
    return result


def _apply_orders(result: Object, change: Object, orders: Object, place: Field) -> None:
    """Put lists that a patch does not change into the order that it requests."""
    for name, order in orders.items():
        if place.message is not None and not place.shape and name not in place.message.fields:
            why = f'unable to find api field in struct {place.message.kind} for the json field "{name}"'
            raise ApiError(500, "", why)
        if name not in change and isinstance(result.get(name), list):
            result[name] = _apply_order(
                result[name], result[name], order, place.child(name).merge_key
            )


def _directs(item: Any) -> bool:
    return isinstance(item, dict) and _DIRECTIVE in item


def _merge_list(live: list[Any], change: list[Any], place: Field, order: Any) -> list[Any]:
    key = place.merge_key
    if order is None:  # items of the patch stay in its order; others keep their places around them
        order = [item for item in change if not (isinstance(item, dict) and _DIRECTIVE in item)]
    if not key:
        known = {_text(item) for item in live}
        result = [*live, *(item for item in change if _text(item) not in known)]
        return _apply_order(result, live, order, key)
    if any(isinstance(item, dict) and item.get(_DIRECTIVE) == "replace" for item in change):
        return [item for item in change if item.get(_DIRECTIVE) != "replace"]
    merged = _by_key(live, change, key, place.element)
    return _apply_order(merged, live, order, key)


def _by_key(live: list[Any], change: list[Any], key: str, element: Field) -> list[Any]:
    """Merge items that have the same key; one lookup an item, however many there are."""
    result = list(live)
    places: dict[str, list[int]] = {}
    for at, own in enumerate(live):
        places.setdefault(_text(_key(own, key)), []).append(at)
    for item in change:
        if not isinstance(item, dict) or key not in item:
            why = f"map: {go_text(item)[:SHOWN]} does not contain declared merge key: {key}"
            raise ApiError(500, "", why)
        name = _text(item[key])
        position = places.get(name)
        if item.get(_DIRECTIVE) == "delete":
            for at in places.pop(name, ()):
                result[at] = _GONE
        elif position is None:
            places[name] = [len(result)]
            result.append(strategic_merge(None, item, element))
        else:
            result[position[0]] = strategic_merge(result[position[0]], item, element)
    return [item for item in result if item is not _GONE]


def _apply_order(merged: list[Any], live: list[Any], order: Any, key: str) -> list[Any]:
    """Return items in the order that a patch requests; others stay after the item they followed."""
    if not isinstance(order, list):
        return merged
    ordered_keys = [_key(item, key) if key else item for item in order]
    placed = {_text(name): number for number, name in enumerate(ordered_keys)}
    in_patch = [item for item in merged if _text(_key(item, key) if key else item) in placed]
    in_patch.sort(key=lambda item: placed[_text(_key(item, key) if key else item)])
    positions = {_text(_key(item, key) if key else item): at for at, item in enumerate(live)}
    result: list[Any] = []
    others = [item for item in merged if _text(_key(item, key) if key else item) not in placed]
    for item in in_patch:
        at = positions.get(_text(_key(item, key) if key else item))
        while others and at is not None:
            other = positions.get(_text(_key(others[0], key) if key else others[0]), at + 1)
            if other > at:
                break
            result.append(others.pop(0))
        result.append(item)
    return [*result, *others]


def _key(item: Any, key: str) -> Any:
    return item.get(key) if isinstance(item, dict) else None


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
