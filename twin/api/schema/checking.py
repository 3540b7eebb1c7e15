"""Checks objects against the tables: wrong types are refused, unknown fields are dropped and reported.

As a real server reads an object: it keeps what its types have a place for. Whether unknown fields
are refused, warned about or ignored is up to the client's `fieldValidation`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

from inputs.quantities import canonical_text
from twin.api.schema.model import Field
from twin.errors import ApiError, bad_request

DEEPEST = 64
_SCALARS = frozenset({"string", "int32", "int64", "bool"})
_RESOURCES = "ResourceQuantity"
"""An amount of a resource in a list of them, which is rounded up to a thousandth."""
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)")
_QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}
_JSON_NAMES = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


class Check:
    """One object's check; `unknown` collects the paths of fields that its type does not have."""

    def __init__(self, kind: str, version: str, *, keeps_empty: bool = False) -> None:
        """Check an object of a kind and API version (for the words of a refusal).

        What is empty is left out, as a real server writes it, but where `keeps_empty` an applier may own it.
        """
        self._of = (kind, version)
        self._keeps_empty = keeps_empty
        self.unknown: list[str] = []

    def clean(self, value: Any, place: Field, path: str = "", depth: int = 0) -> Any:
        """Return a copy without unknown fields and without nulls.

        Raises:
            ApiError: 400, a value has the wrong type or nests too deeply.
        """
        if depth > DEEPEST:
            raise self._refusal(f"{path} nests more than {DEEPEST} levels deep")
        if place.shape == "[]":
            return self._list(value, place, path, depth)
        if place.shape == "{}":
            if not isinstance(value, dict):
                raise self._mismatch(value, "object", path)
            given = {key: each for key, each in value.items() if each is not None}
            if place.type == "Quantity":
                return {
                    key: self._plain(each, _RESOURCES, f"{path}.{key}", depth)
                    for key, each in given.items()
                }
            return {
                key: self.clean(each, place.element, f"{path}.{key}", depth + 1)
                for key, each in given.items()
            }
        if place.message is not None:
            return self._object(value, place, path, depth)
        return self._plain(value, place.type, path, depth)

    def _list(self, value: Any, place: Field, path: str, depth: int) -> list[Any]:
        if not isinstance(value, list):
            raise self._mismatch(value, "array", path)
        element = place.element
        return [
            self.clean(each, element, f"{path}[{index}]", depth + 1)
            for index, each in enumerate(value)
            if each is not None
        ]

    def _object(self, value: Any, place: Field, path: str, depth: int) -> dict[str, Any]:
        assert place.message is not None
        if not isinstance(value, dict):
            raise self._mismatch(value, place.message.kind, path)
        fields, result = place.message.fields, {}
        for name, each in value.items():
            field = fields.get(name)
            if field is not None:
                cleaned = (
                    None if each is None else self.clean(each, field, _join(path, name), depth + 1)
                )
                if cleaned is not None and (cleaned or not self._omits(field, path)):
                    result[name] = cleaned
            elif name in ("kind", "apiVersion") and place.message.typed:
                result[name] = self._plain(each, "string", _join(path, name), depth)
            else:
                self.unknown.append(_join(path, name))
        return result

    def _plain(self, value: Any, kind: str, path: str, depth: int) -> Any:
        if kind in ("Any", "Raw", "FieldsV1", "Extra"):
            return _without_nulls(value, depth)
        if not _fits(value, kind):
            raise self._mismatch(value, kind, path)
        if kind in ("Quantity", _RESOURCES):
            return self._quantity(value, milli=kind == _RESOURCES)
        if kind == "bytes" and not _is_base64(value):
            raise self._refusal("illegal base64 data")
        if kind == "MicroTime" and not _MICRO_TIME.fullmatch(value):
            raise self._refusal(
                f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse it'
            )
        return value

    def _quantity(self, value: Any, *, milli: bool) -> str:
        try:
            return canonical_text(value, milli=milli)
        except ValueError:
            raise self._refusal(_QUANTITY_RULE) from None

    def _omits(self, field: Field, path: str) -> bool:
        """Say whether an empty value of a field is left out: not where absence differs from it."""
        if self._keeps_empty or field.pointer or field.required or path.startswith("status"):
            return False
        if field.shape:
            # rules of roles: empty is shown; managedFields: empty takes all owners away
            return field.name not in ("rules", "managedFields")
        return field.type in _SCALARS

    def _mismatch(self, value: Any, expected_type: str, path: str) -> ApiError:
        stated_type = _JSON_NAMES.get(type(value), "object")
        return self._refusal(
            f"json: cannot unmarshal {stated_type} into field {path or 'of the object'} of type {expected_type}"
        )

    def _refusal(self, why: str) -> ApiError:
        kind, version = self._of
        return bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {why}')


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _fits(value: Any, kind: str) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    match kind:
        case "int32" | "int64":
            return whole and -_RANGES[kind] <= value < _RANGES[kind]
        case "bool":
            return isinstance(value, bool)
        case "double":
            return whole or isinstance(value, float)
        case "IntOrString":
            return isinstance(value, str) or (whole and -(1 << 31) <= value < 1 << 31)
        case "Quantity" | "ResourceQuantity":
            return isinstance(value, str | int | float) and not isinstance(value, bool)
    return isinstance(value, str)


def _is_base64(text: str) -> bool:
    try:
        b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except ValueError:
        return False
    return True


def _without_nulls(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        raise bad_request(f"the object nests more than {DEEPEST} levels deep")
    if isinstance(value, dict):
        return {
            key: _without_nulls(each, depth + 1) for key, each in value.items() if each is not None
        }
    if isinstance(value, list):
        return [_without_nulls(each, depth + 1) for each in value]
    return value
