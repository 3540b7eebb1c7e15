"""JSON patch (RFC 6902) within limits: a list of steps on a document, all of them or none."""

from __future__ import annotations

from typing import Any

import jsonpointer
from jsonpatch import JsonPatch, JsonPatchException
from jsonpointer import JsonPointer, JsonPointerException

from twin.api.limits import MOST_VALUES, too_large
from twin.copying import copy_object
from twin.errors import ApiError, bad_request

jsonpointer.VERBOSE_EXCEPTIONS = False  # else each of its messages holds the whole document
MOST_STEPS = 10_000
"""As many as a real server takes."""
TEXT_OF_A_VALUE = 300
"""Characters that count as one value more: 10,000 values copied are 3 MB at most."""
SHOWN = 500
"""Characters of a step, and of what is wrong with it, that a refusal repeats."""

_BAD_STEP = (JsonPatchException, JsonPointerException, KeyError, TypeError, RecursionError)


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
                room -= _count_values(JsonPointer(step["from"]).resolve(result))
                if room < 0:
                    raise too_large(f"a JSON patch may copy at most {MOST_VALUES} values")
            patch = JsonPatch(_in_standard_terms(result, step))
            result = patch.apply(result, in_place=True)
        except _BAD_STEP as error:
            text = "the server rejected our request due to an error in our request"
            message = f"{text}: {str(step)[:SHOWN]}: {str(error)[:SHOWN]}"
            raise ApiError(422, "Invalid", message) from error
    return result


def _in_standard_terms(document: Any, step: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a step as RFC 6902 has it. To an API server, `replace` adds a member that is not there yet, and `test` of
    null holds for a value that is not there.
    """
    match step:
        case {"op": "replace", "path": str(path)}:
            parent, _ = JsonPointer(path).to_last(document)
            return [{**step, "op": "add"}] if isinstance(parent, dict) else [step]
        case {"op": "test", "path": str(path)} if step.get("value") is None:
            return [] if JsonPointer(path).resolve(document, None) is None else [step]
    return [step]


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
