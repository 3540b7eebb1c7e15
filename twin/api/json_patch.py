"""JSON patch (RFC 6902): a list of steps on a document, all of them or none."""

from __future__ import annotations

import json
import re
from typing import Any

from twin.api.go_json import type_name, wrong_value
from twin.api.limits import DEEPEST, MOST_VALUES, too_large
from twin.copying import copy_object
from twin.errors import ApiError, bad_request

MOST_STEPS = 10_000
"""As many as a real server takes."""
TEXT_OF_A_VALUE = 300
"""Characters that count as one value more: 10,000 values copied are 3 MB at most."""
SHOWN = 500
"""Characters of a path that a refusal repeats."""
_INDEX = re.compile(r"[+-]?[0-9]{1,9}")
_MEMBERS = ("op", "path", "from", "value")
_STEP = "Go struct field jsonPatchOp"


def _wrong_type(value: Any, wanted: str) -> ApiError:
    return bad_request(f"error decoding patch: {wrong_value(value, wanted)}")


def apply_json_patch(document: Any, steps: Any) -> Any:
    """Return a patched copy.

    Raises:
        ApiError: 400 for what is no JSON patch, 413 for too many steps, 422 for one that does not
            fit the document.
    """
    if steps is None:
        return copy_object(document)
    _check_steps(steps)
    result = copy_object(document)
    room = MOST_VALUES  # of what is copied, which could double with every step
    for step in steps:
        try:
            if step.get("op") == "copy":
                room -= _count_values(_source(result, step)[2])
                if room < 0:
                    raise too_large(f"a JSON patch may copy at most {MOST_VALUES} values")
            result = _apply_step(result, step)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            text = "the server rejected our request due to an error in our request"
            raise ApiError(422, "Invalid", text, {}) from error
    return result


def _check_steps(steps: Any) -> None:
    """Raise ApiError 400 for what is no list of steps, 413 for too many."""
    if not isinstance(steps, list):
        raise _wrong_type(steps, "[]handlers.jsonPatchOp")
    for step in steps:
        if step is None:
            continue
        if not isinstance(step, dict):
            raise _wrong_type(step, "handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            value = step.get(name)
            if value is not None and not isinstance(value, str):
                found = type_name(value)
                raise bad_request(
                    f"error decoding patch: json: cannot unmarshal {found} into {_STEP}.{name} of type string"
                )
    if len(steps) > MOST_STEPS:
        message = (
            f"the allowed maximum operations in a JSON patch is {MOST_STEPS}, got {len(steps)}"
        )
        raise ApiError(413, "RequestEntityTooLarge", message)
    steps[:] = [{} if step is None else step for step in steps]


def unknown_members(steps: Any) -> list[str]:
    """Return a sentence about each member of a step that no step has."""
    return [
        f'json patch unknown field "[{number}].{name}"'
        for number, step in enumerate(steps if isinstance(steps, list) else ())
        if isinstance(step, dict)
        for name in step
        if name not in _MEMBERS
    ]


def _apply_step(document: Any, step: dict[str, Any]) -> Any:
    match step["op"]:
        case "add":
            parent, name = _place(document, step["path"])
            _add(parent, name, copy_object(step.get("value")))
        case "remove":
            _remove(*_place(document, step["path"]))
        case "replace":
            return _replace(document, step["path"], copy_object(step.get("value")))
        case "move":
            parent, name, value = _source(document, step)
            _remove(parent, name)
            _add(*_place(document, step["path"]), value)
        case "copy":
            value = copy_object(_source(document, step)[2])
            _add(*_place(document, step["path"]), value)
        case "test":
            path = step["path"]
            found = document if path == "" else _value(*_place(document, path))
            if _text(found) != _text(step.get("value")):
                raise ValueError("testing value failed")
        case other:
            raise ValueError(f"operation {other!r} is not supported")
    return document


def _place(document: Any, pointer: Any) -> tuple[Any, str]:
    """Return the object or list that a path leads into, and the member's name; the text before its first `/`
    says nothing. Raises KeyError for a path of one part, or through what is not there.
    """
    if not isinstance(pointer, str):
        raise TypeError("a path is a text")
    parts = pointer.split("/", 2 * DEEPEST)
    if len(parts) == 2 * DEEPEST + 1:
        raise ValueError(f"a path has at most {2 * DEEPEST - 1} parts")
    if len(parts) < 2:
        raise KeyError("the path has no part")
    names = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    for name in names[1:-1]:
        document = _value(document, name)
        if not isinstance(document, dict | list):
            raise KeyError(f"nothing is inside {name[:SHOWN]!r}")
    return document, names[-1]


def _source(document: Any, step: dict[str, Any]) -> tuple[Any, str, Any]:
    """Return where a value is taken from, and the value: null where an object has no such member."""
    parent, name = _place(document, step["from"])
    return parent, name, _value(parent, name)


def _value(parent: Any, name: str) -> Any:
    """Return a member; null where an object has none. Raises IndexError and ValueError for lists."""
    return parent.get(name) if isinstance(parent, dict) else parent[_index(name, len(parent))]


def _index(name: str, count: int) -> int:
    """Return an index of a list that has `count` places; negative ones count from its end."""
    if not _INDEX.fullmatch(name):
        raise ValueError(f"{name[:SHOWN]!r} is no index of a list")
    index = int(name)
    if not -count <= index < count:
        raise IndexError(f"index {index} is beyond the list")
    return index % count


def _add(parent: Any, name: str, value: Any) -> None:
    if isinstance(parent, dict):
        parent[name] = value
    elif name == "-":
        parent.append(value)
    else:
        parent.insert(_index(name, len(parent) + 1), value)


def _replace(document: Any, pointer: Any, value: Any) -> Any:
    """Replace a value; a member that is not there yet is added, as upstream does."""
    if pointer == "":
        if not isinstance(value, dict | list):
            raise TypeError("a document is an object or a list")
        return value
    parent, name = _place(document, pointer)
    if isinstance(parent, dict):
        parent[name] = value
    else:
        parent[_index(name, len(parent))] = value
    return document


def _remove(parent: Any, name: str) -> None:
    if isinstance(parent, dict):
        del parent[name]
    else:
        del parent[_index(name, len(parent))]


def _text(value: Any) -> str:
    """Return what two values are compared by: 1 and 1.0 differ."""
    return json.dumps(value, sort_keys=True)


def _count_values(value: Any) -> int:
    """Return how many values there are in one, itself included; long texts count for more."""
    count, left = 0, [value]
    while left:
        element = left.pop()
        count += 1
        if isinstance(element, dict):
            left.extend(element.values())
        elif isinstance(element, list):
            left.extend(element)
        elif isinstance(element, str):
            count += len(element) // TEXT_OF_A_VALUE
    return count
