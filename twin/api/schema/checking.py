"""Checks objects against the tables: wrong types are refused, unknown fields are dropped and reported.

As a real server reads an object: it keeps what its types have a place for. Whether unknown fields
are refused, warned about or ignored is up to the client's `fieldValidation`.
"""

from __future__ import annotations

from typing import Any

from twin.api.schema.go_words import RFC3339_MICRO, WrongType, base64_error, time_error
from twin.api.schema.model import Field
from twin.errors import ApiError, bad_request
from twin.quantity import canonical_text

DEEPEST = 64
_SCALARS = frozenset({"string", "int32", "int64", "bool"})
_RESOURCES = "ResourceQuantity"
"""An amount of a resource in a list of them, which is rounded up to a thousandth."""
_QUANTITY_RULE = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_AMOUNT, _WORD = Field("", 0, _RESOURCES), Field("", 0, "string")
_EMPTY: dict[str, Any] = {"string": "", "bytes": "", "int32": 0, "int64": 0, "bool": False}
_NEVER_NULL = frozenset(
    ("metadata", name)
    for name in ("metadata", "name", "namespace", "generateName", "uid", "resourceVersion", "managedFields",
                 "creationTimestamp", "deletionTimestamp")
)  # fmt: skip
"""What an applied null says nothing about: identity, and what only the server sets."""
_RANGES = {"int32": 1 << 31, "int64": 1 << 63}


class Check:
    """One object's check; `unknown` collects the paths of fields that its type does not have."""

    def __init__(self, kind: str, version: str, *, applied: bool = False) -> None:
        """Check an object of a kind and API version (for the words of a refusal).

        What is empty or null is left out, as a real server writes it, but where it is `applied`: it may be owned.
        """
        self._head = f'{kind} in version "{version}" cannot be handled as a {kind}: '
        self._applied = applied
        self.unknown: list[str] = []

    def clean(self, value: Any, place: Field, path: str = "", depth: int = 0) -> Any:
        """Return a copy without unknown fields and without nulls, which are zero in maps and lists.

        Raises:
            ApiError: 400, a value has the wrong type or nests too deeply.
        """
        if depth > DEEPEST:
            raise self._refusal(f"{path} nests more than {DEEPEST} levels deep")
        if place.shape == "[]":
            return self._list(value, place, path, depth)
        if place.shape == "{}":
            if not isinstance(value, dict):
                raise self._mismatch(value, place)
            if place.type == "Quantity":
                return {
                    key: None
                    if each is None and self._applied
                    else self._plain("0" if each is None else each, _AMOUNT, depth)
                    for key, each in value.items()
                }
            return {
                key: self._member(each, place.element, f"{path}.{key}", depth)
                for key, each in value.items()
                if each is not None or self._applied or place.element.type in _EMPTY
            }
        if place.message is not None:
            return self._object(value, place, path, depth)
        return self._plain(value, place, depth)

    def _list(self, value: Any, place: Field, path: str, depth: int) -> list[Any]:
        if not isinstance(value, list):
            raise self._mismatch(value, place)
        element = place.element
        return [
            self._member(each, element, f"{path}[{index}]", depth)
            for index, each in enumerate(value)
            if each is not None or element.type in _EMPTY or element.message is not None
        ]

    def _member(self, value: Any, place: Field, path: str, depth: int) -> Any:
        """Return a part of a map or list; null is what a program's type has without a value."""
        if value is None:
            if self._applied:
                return None
            value = _EMPTY.get(place.type, {})
        return self.clean(value, place, path, depth + 1)

    def _object(self, value: Any, place: Field, path: str, depth: int) -> dict[str, Any]:
        assert place.message is not None
        if not isinstance(value, dict):
            raise self._mismatch(value, place)
        fields = place.message.fields
        result: dict[str, Any] = {}
        for name, each in value.items():
            field = fields.get(name)
            if field is not None:
                try:
                    cleaned = (
                        None
                        if each is None
                        else self.clean(each, field, _join(path, name), depth + 1)
                    )
                except WrongType as error:
                    error.enter(place.message, field)
                    raise
                if cleaned is None:
                    if self._applied and (path or "metadata", name) not in _NEVER_NULL:
                        result[name] = None
                elif cleaned or not self._omits(field, path):
                    result[name] = cleaned
            elif name in ("kind", "apiVersion") and place.message.typed:
                result[name] = self._plain(each, _WORD, depth)
            else:
                self.unknown.append(_join(path, name))
        return result

    def _plain(self, value: Any, place: Field, depth: int) -> Any:
        kind = place.type
        if kind in ("Any", "Raw", "FieldsV1", "Extra"):
            return _without_nulls(value, depth)
        if kind in ("Quantity", _RESOURCES):
            return self._quantity(value, milli=kind == _RESOURCES)
        if not _fits(value, kind):
            raise self._mismatch(value, place)
        why = ""
        if kind == "bytes":
            why = base64_error(value)
        elif kind == "Time":
            why = time_error(value)
        elif kind == "MicroTime":
            why = time_error(value, RFC3339_MICRO)
        if why:
            raise self._refusal(why)
        return value

    def _quantity(self, value: Any, *, milli: bool) -> str:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                return canonical_text(value, milli=milli)
            except ValueError:
                pass
        raise self._refusal(_QUANTITY_RULE)

    def _omits(self, field: Field, path: str) -> bool:
        """Say whether an empty value of a field is left out: not where absence differs from it."""
        if self._applied or field.pointer or field.required or path.startswith("status"):
            return False
        if field.shape:
            # rules of roles: empty is shown; managedFields: empty takes all owners away
            return field.name not in ("rules", "managedFields")
        return field.type in _SCALARS

    def _mismatch(self, value: Any, place: Field) -> ApiError:
        return WrongType(self._head, value, place)

    def _refusal(self, why: str) -> ApiError:
        return bad_request(f"{self._head}{why}")


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
    return isinstance(value, str)


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
