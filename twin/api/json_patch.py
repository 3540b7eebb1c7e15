"""JSON patch (RFC 6902): a list of steps on a document, all of them or none."""

from __future__ import annotations

from typing import Any

from twin.api.limits import DEEPEST, MOST_VALUES, too_large
from twin.copying import copy_object
from twin.errors import ApiError, bad_request

MOST_STEPS = 10_000
"""As many as a real server takes."""
TEXT_OF_A_VALUE = 300
"""Characters that count as one value more: 10,000 values copied are 3 MB at most."""
LONGEST_INDEX = 9
SHOWN = 500
"""Characters of a step that a refusal repeats."""


def apply_json_patch(document: Any, steps: Any) -> Any:
    """Return a patched copy.

    Raises:
        ApiError: 400 for what is no JSON patch, 413 for too many steps, 422 for one that does not
            fit the document.
    """
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise bad_request("a JSON patch must be a list of operations")
    if len(steps) > MOST_STEPS:
        message = (
            f"the allowed maximum operations in a JSON patch is {MOST_STEPS}, got {len(steps)}"
        )
        raise ApiError(413, "RequestEntityTooLarge", message)
    result = copy_object(document)
    room = MOST_VALUES  # of what is copied, which could double with every step
    for step in steps:
        try:
            if step.get("op") == "copy":
                room -= _count_values(_find(result, _parts(step["from"])))
                if room < 0:
                    raise too_large(f"a JSON patch may copy at most {MOST_VALUES} values")
            result = _apply_step(result, step)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            text = "the server rejected our request due to an error in our request"
            raise ApiError(422, "Invalid", f"{text}: {str(step)[:SHOWN]}: {error}") from error
    return result


def _apply_step(document: Any, step: dict[str, Any]) -> Any:
    path, operation = _parts(step["path"]), step["op"]
    match operation:
        case "add":
            return _add(document, path, copy_object(step["value"]))
        case "remove":
            return _remove(document, path)
        case "replace":
            _find(document, path[:-1])  # a member that is not there yet is added, as upstream does
            return _replace(document, path, copy_object(step["value"]))
        case "move":
            source = _parts(step["from"])
            if path[: len(source)] == source and path != source:
                raise ValueError("a value cannot move into itself")
            value = _find(document, source)
            return _add(_remove(document, source), path, value)
        case "copy":
            return _add(document, path, copy_object(_find(document, _parts(step["from"]))))
        case "test":
            if _find(document, path, missing=None) != step.get("value"):
                raise ValueError("testing value failed")
            return document
    raise ValueError(f"operation {operation!r} is not supported")


def _parts(pointer: Any) -> list[str]:
    if not isinstance(pointer, str) or (pointer and not pointer.startswith("/")):
        raise ValueError("a path begins with /")
    parts = pointer.split("/", 2 * DEEPEST)[1:]
    if len(parts) == 2 * DEEPEST:
        raise ValueError(f"a path has at most {2 * DEEPEST - 1} parts")
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]


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


_RAISE = object()


def _find(document: Any, path: list[str], missing: Any = _RAISE) -> Any:
    for part in path:
        try:
            document = document[_index(document, part)]
        except (KeyError, IndexError):
            if missing is _RAISE:
                raise KeyError(f"no value at {part[:SHOWN]!r}") from None
            return missing
    return document


def _index(parent: Any, part: str, *, end: bool = False) -> Any:
    if isinstance(parent, dict):
        return part
    if not isinstance(parent, list):
        raise KeyError(part)
    if end and part == "-":
        return len(parent)
    plain = part.isascii() and part.isdecimal() and len(part) <= LONGEST_INDEX
    if not plain or (part[0] == "0" and part != "0"):
        raise ValueError(f"{part[:SHOWN]!r} is no index of a list")
    return int(part)


def _add(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _find(document, path[:-1])
    place = _index(parent, path[-1], end=True)
    if isinstance(parent, list):
        if place > len(parent):
            raise IndexError(f"index {place} is beyond the list")
        parent.insert(place, value)
    else:
        parent[place] = value
    return document


def _replace(document: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    parent = _find(document, path[:-1])
    parent[_index(parent, path[-1])] = value
    return document


def _remove(document: Any, path: list[str]) -> Any:
    if not path:
        raise ValueError("the whole document cannot be removed")
    parent = _find(document, path[:-1])
    del parent[_index(parent, path[-1])]
    return document
