"""What of an applied configuration does not fit the types of its kind, as a server that merges typed values says it.

Upstream: sigs.k8s.io/structured-merge-diff, typed/validate.go, whose sentences and paths these are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from twin.api.schema import Field

UNKNOWN = "field not declared in schema"
_NUMBERS = frozenset({"int32", "int64", "double"})
_TEXTS = frozenset({"string", "bytes", "Time", "MicroTime"})


def type_errors(config: Any, place: Field) -> str:
    """Return what is wrong as one text; empty when everything fits."""
    errors = sorted(_errors(config, place, ""))
    if len(errors) == 1:
        return errors[0]
    return "errors:\n" + "\n".join(f"  {error}" for error in errors) if errors else ""


def _errors(value: Any, place: Field, path: str) -> Iterator[str]:
    if value is None:
        return
    if place.shape == "[]":
        yield from _of_list(value, place, path)
    elif place.shape == "{}":
        if isinstance(value, dict):
            for name, each in value.items():
                yield from _errors(each, place.element, f"{path}.{name}")
        else:
            yield f"{path}: expected map, got {_in_braces(value)}"
    elif place.message is not None:
        yield from _of_object(value, place, path)
    else:
        yield from _of_scalar(value, place.type, path)


def _of_object(value: Any, place: Field, path: str) -> Iterator[str]:
    assert place.message is not None
    if not isinstance(value, dict):
        yield f"{path}: expected map, got {_in_braces(value)}"
        return
    unknown = ""
    for name, each in value.items():
        field = place.message.fields.get(name)
        if field is not None:
            yield from _errors(each, field, f"{path}.{name}")
        elif not (name in ("kind", "apiVersion") and place.message.typed):
            unknown = unknown or f"{path}.{name}: {UNKNOWN}"  # it looks no further than the first
    if unknown:
        yield unknown


def _of_list(value: Any, place: Field, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{path}: expected list, got {_in_braces(value)}"
        return
    seen: set[str] = set()
    for index, each in enumerate(value):
        inner = f"[{index}]"
        if place.keys:
            if not isinstance(each, dict):
                what = "a null element" if each is None else "non-map elements"
                yield f"{path}: element {index}: associative list with keys may not have {what}"
                continue
            inner = _key(each, place) or inner
        elif place.is_set:
            inner = f"[={_text(each)}]"
        if (place.keys or place.is_set) and inner in seen:
            yield f"{path}: duplicate entries for key {inner}"
        seen.add(inner)
        yield from _errors(each, place.element, f"{path}{inner}")


def _key(item: dict[str, Any], place: Field) -> str:
    """Return what tells an item of a list from the others; empty for one without any of it."""
    given = {key: item.get(key, place.key_default(key)) for key in sorted(place.keys)}
    parts = [f"{key}={_text(value)}" for key, value in given.items() if value is not None]
    return f"[{','.join(parts)}]" if parts else ""


def _of_scalar(value: Any, kind: str, path: str) -> Iterator[str]:
    if kind in _TEXTS and not isinstance(value, str):
        yield f"{path}: expected string, got &value.valueUnstructured{{Value:{_in_go(value)}}}"
    elif kind == "bool" and not isinstance(value, bool):
        yield f"{path}: expected boolean, got {_in_braces(value)}"
    elif kind in _NUMBERS and (isinstance(value, bool) or not isinstance(value, int | float)):
        names = {str: "string", bool: "boolean", list: "list", dict: "map"}
        yield f"{path}: expected numeric (int or float), got {names[type(value)]}"


def _in_braces(value: Any) -> str:
    return f"&{{{_plainly(value)}}}"


def _plainly(value: Any) -> str:
    """Return a value as Go prints it."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_plainly(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_plainly, value))}]"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "<nil>"}[value]
    return str(value)


def _in_go(value: Any) -> str:
    """Return a value as Go writes it in its own syntax."""
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(key)}:{_in_go(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{inner}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(_in_go, value))}}}"
    if value is None:
        return "interface {}(nil)"
    return _text(value)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
