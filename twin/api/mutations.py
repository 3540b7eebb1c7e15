"""How what a MutatingAdmissionPolicy asks for changes an object: an apply configuration, or a JSON Patch.

Source: kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch (v1.36).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from twin.api.field_sets import merge_given
from twin.api.json_patch import apply_json_patch
from twin.api.messages import Object
from twin.api.schema import Field
from twin.api.schema.custom import root_field
from twin.api.schema.model import ANY
from twin.errors import ApiError
from twin.policies.changing import BadMutation
from twin.webhooks.matching import Write

_UNDECLARED = ": field not declared in schema"
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")


class Patching:
    """Changes the object of a write."""

    def __init__(self, write: Write, read: Callable[[Object], Object]) -> None:
        """Let `read` give a changed object the form of its kind, with defaults."""
        self._named = write.head
        self._untyped = write.shown is not None
        self._root = root_field(write.kind) or ANY
        self._read = read

    def patch(self, kind: str, wanted: Any, obj: Object) -> Object:
        """Return an object as a mutation of a type leaves it; raises BadMutation, and ApiError 500."""
        whole = {**obj, **self._named}
        changed = (
            self._applied(wanted, whole)
            if kind == "ApplyConfiguration"
            else self._patched(wanted, whole)
        )
        unknown = [text for text in _misfits(changed, self._root, "") if text.endswith(_UNDECLARED)]
        if unknown:
            raise _unreadable(
                f'strict decoding error: unknown field "{unknown[0][1 : -len(_UNDECLARED)]}"'
            )
        try:
            return self._read(changed)
        except ApiError as error:
            _, found, why = error.message.partition(" cannot be handled as a ")
            raise _unreadable(why.partition(": ")[2] if found else error.message) from error

    def _applied(self, config: Object, obj: Object) -> Object:
        failed = "error applying patch: failed to convert patch object to typed object"
        if self._untyped:
            named = f"{self._named['apiVersion']}, Kind={self._named['kind']}"
            raise BadMutation(f"{failed}: no corresponding type for {named}")
        config = {**config, **self._named}
        wrong = next(_misfits(config, self._root, ""), "")
        if wrong:
            raise BadMutation(f"{failed}: {wrong}")
        atomic = list(_atomics(config, self._root, ""))
        if atomic:
            why = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
            raise BadMutation(f"error applying patch: invalid ApplyConfiguration: {why}")
        merged: Object = merge_given(obj, config, self._root)
        return merged

    def _patched(self, operations: list[Object], obj: Object) -> Object:
        changed = obj
        for each in operations:
            operation, path = each.get("op") or "", str(each.get("path") or "")
            if operation not in _OPERATIONS:
                raise BadMutation(f"JSON Patch: Unexpected kind: {operation}")
            try:
                changed = apply_json_patch(changed, [{**each, "path": path}])
            except ApiError as error:
                if operation == "test":
                    return obj  # a test that fails leaves all as it is
                raise BadMutation(_step_failure(operation, path, error)) from error
        return changed


def _unreadable(why: str) -> ApiError:
    """500 of a changed object that cannot be read."""
    message = f"Internal error occurred: {why}"
    return ApiError(500, "InternalError", message, {"causes": [{"message": why}]})


def _step_failure(operation: str, path: str, error: ApiError) -> str:
    why = str(error.__cause__)
    if operation == "remove":
        key = path.rpartition("/")[2]
        why = f"Unable to remove nonexistent key: {key}: missing value"
    return f"JSON Patch: error in {operation} for path: '{path}': {why}"


def _misfits(value: Any, place: Field, path: str) -> Iterator[str]:
    """Yield what of a configuration does not fit its type."""
    wanted = {"[]": "list", "{}": "map"}.get(place.shape, "")
    if not wanted and place.message is not None:
        wanted = "map"
    if wanted == "map":
        if not isinstance(value, dict):
            yield f"{path}: expected map, got {_told(value)}"
            return
        for name, each in value.items():
            if place.shape == "" and place.message is not None and name not in place.message.fields:
                if not (path == "" and name in ("apiVersion", "kind")):
                    yield f"{path}.{name}{_UNDECLARED}"
            else:
                yield from _misfits(each, place.child(name), f"{path}.{name}")
    elif wanted == "list":
        if not isinstance(value, list):
            yield f"{path}: expected list, got {_told(value)}"
            return
        for index, each in enumerate(value):
            yield from _misfits(each, place.element, f"{path}[{index}]")
    elif place.type == "string" and not isinstance(value, str):
        yield f"{path}: expected string, got {_told(value)}"


def _told(value: Any) -> str:
    if value is None:
        return "&{NULL_VALUE}"
    return f"&value.valueUnstructured{{Value:{str(value).lower() if isinstance(value, bool) else value}}}"


def _atomics(value: Any, place: Field, path: str) -> Iterator[str]:
    """Yield the paths of lists and objects in a configuration that merge as a whole."""
    if isinstance(value, dict):
        if place.whole:
            yield path
        for name, each in value.items():
            yield from _atomics(each, place.child(name), f"{path}.{name}")
    elif isinstance(value, list):
        if place.whole:
            yield path
        for index, each in enumerate(value):
            yield from _atomics(each, place.element, f"{path}[{index}]")
