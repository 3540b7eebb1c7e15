"""What Go says of a value that does not fit: of its type, of a time, of base64."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from twin.api.schema.model import Field, Message
from twin.errors import ApiError

RFC3339, RFC3339_MICRO = "2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.000000Z07:00"
_NAMES = {str: "string", bool: "bool", list: "array", int: "number", float: "number"}
_PLAIN = {"bytes": "[]uint8", "double": "float64", "IntOrString": "int32"}
_KINDS = {str: "string", bool: "bool", list: "slice", int: "int64", float: "float64"}
_READ_FROM_JSON = frozenset({"Time", "MicroTime", "IntOrString"})
_TEXTS = frozenset({"Time", "MicroTime"})
_NUMBERS = frozenset({"int32", "int64", "IntOrString"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]")
_DATE = (("2006", r"\d{4}"), ("-", "-"), ("01", r"\d\d"), ("-", "-"), ("02", r"\d\d"), ("T", "T"))
_CLOCK = (("15", r"\d\d?"), (":", ":"), ("04", r"\d\d"), (":", ":"), ("05", r"\d\d"))
_ZONE = ("Z07:00", r"Z|[+-]\d\d:\d\d")
_LIMITS = (
    ("month", 1, 1, 12),
    ("day", 2, 1, 31),
    ("hour", 3, 0, 23),
    ("minute", 4, 0, 59),
    ("second", 5, 0, 59),
)
_TYPES = Path(__file__).with_name("go_types.lst")


class WrongType(ApiError):
    """400 of a value of another type than its field has; says as which field of which struct Go knows it."""

    def __init__(self, of: str, value: Any, place: Field) -> None:
        """Begin at the value; `of` is what the sentence begins with."""
        found = _NAMES.get(type(value), "object")
        if found == "number" and not place.shape and place.type in _NUMBERS:
            found = f"number {value}"
        self._of, self._found, self._place = of, found, place
        self._value = value
        self._struct, self._path = "", ""
        self.go_type = go_type(place)
        super().__init__(400, "BadRequest", "")
        self._say()

    def enter(self, owner: Message, field: Field) -> None:
        """Say that the value is in this field of an object."""
        self._path = f"{step(owner, field)}.{self._path}" if self._path else step(owner, field)
        if not self._struct:
            self._struct = owner.kind
            named = named_types().get(f"{owner.name}.{field.name}")
            if named is not None:
                whole = bool(self._place.shape)
                self.go_type = named if whole or not field.shape else named.rpartition("]")[2]
        self._say()

    @property
    def converted(self) -> str:
        """What Go says where the value comes from a strategic merge patch, which is read into types otherwise."""
        found = _KINDS.get(type(self._value), "map")
        if self._place.type in _READ_FROM_JSON and not self._place.shape:
            return f"json: cannot unmarshal {self._found} into Go value of type {self.go_type}"
        if self._place.shape:
            what = {"[]": "slice", "{}": "map"}[self._place.shape]
            return f"cannot restore {what} from {found}"
        if self._place.message is not None:
            return f"cannot restore struct from: {found}"
        if self._place.type == "bytes":
            return f"cannot restore slice from {found}"
        numbers = ("int64", "float64") if self._place.type != "bool" else ()
        if found in numbers:
            return f"cannot convert {found} to {self.go_type}"
        kind = "string" if self._place.type == "string" else self.go_type
        return f"unrecognized type: {kind}"

    def _say(self) -> None:
        where = f"struct field {self._struct}.{self._path}" if self._struct else "value"
        self.message = (
            f"{self._of}json: cannot unmarshal {self._found} into Go {where} of type {self.go_type}"
        )


def step(owner: Message, field: Field) -> str:
    """Return a field as a step of Go's path: with the struct that it is embedded by."""
    for own in owner.own:
        if own.inline and own.message is not None and own.message.fields.get(field.name) is field:
            inner = step(own.message, field)
            return f"{own.name[:1].upper()}{own.name[1:]}.{inner}"
    return field.name


def go_type(place: Field) -> str:
    """Return the Go type of a place, as far as the tables tell it."""
    if place.shape == "{}" and place.type == "Quantity":
        return "v1.ResourceList"
    kind = place.type
    if place.message is not None:
        _, version, name = kind.rsplit(".", 2)
        element = f"{version}.{name}"
    else:
        element = "string" if kind in _TEXTS else _PLAIN.get(kind, kind)
    return {"": "", "[]": "[]", "{}": "map[string]"}[place.shape] + element


@cache
def named_types() -> dict[str, str]:
    """Return the Go types of fields that have a name of their own there, by message and field."""
    lines = _TYPES.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def time_error(text: str, layout: str = RFC3339) -> str:
    """Return what is wrong with a time; empty for a right one."""
    rest, values = text, []
    head = f'parsing time "{text}"'
    for element, pattern in _elements(layout):
        match = re.match(pattern, rest)
        if match is None:
            return f'{head} as "{layout}": cannot parse "{rest}" as "{element}"'
        values.append(match[0])
        rest = rest[match.end() :]
    if rest:
        return f'{head}: extra text: "{rest}"'
    numbers = [int(value) for value in values if value.isdigit()]
    for name, place, least, most in _LIMITS:
        if not least <= numbers[place] <= most:
            return f"{head}: {name} out of range"
    return ""


def _elements(layout: str) -> Iterator[tuple[str, str]]:
    yield from _DATE
    yield from _CLOCK[:-1]
    if layout == RFC3339:
        yield "05", r"\d\d"
        yield "", r"(?:[.,]\d+)?"
    else:
        yield "05", r"\d\d"
        yield ".000000", r"[.,]\d{6}"
    yield _ZONE


def base64_error(text: str) -> str:
    """Return what is wrong with a text in base64; empty for a right one."""
    at, count = 0, 0  # of characters that say something
    while at < len(text):
        character = text[at]
        at += 1
        if character in "\r\n":
            continue
        if _BASE64.match(character):
            count += 1
            continue
        wrong = at - 1 if character != "=" or count % 4 < 2 else _padding_error(text, at, count % 4)
        return "" if wrong < 0 else _at_byte(wrong)
    return _at_byte(len(text) - count % 4) if count % 4 else ""


def _padding_error(text: str, at: int, before: int) -> int:
    """Return where what follows a first `=` is wrong; -1 where it is right."""
    rest = [place for place in range(at, len(text)) if text[place] not in "\r\n"]
    if before == 2:
        if not rest:
            return len(text)
        if text[rest[0]] != "=":
            return rest[0] - 1
        rest = rest[1:]
    return rest[0] if rest else -1


def _at_byte(place: int) -> str:
    return f"illegal base64 data at input byte {place}"
