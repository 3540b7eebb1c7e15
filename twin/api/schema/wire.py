"""Protobuf bodies as JSON objects: what newer kubectl sends for its imperative creates.

Guarantee: nothing that was sent is dropped in silence; a field without an entry in the tables, or
bytes that are no protobuf, is refused with the way round it.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any

from twin.api.limits import MOST_VALUES, read_json, too_large
from twin.api.schema.model import Field, Message, root_of
from twin.errors import ApiError, bad_request
from twin.timestamps import rfc3339, rfc3339_micro

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
DEEPEST = 64
REMEDY = (
    "send JSON or YAML instead, for example with `kubectl create --dry-run=client -o yaml ... | "
    "kubectl apply -f -`"
)
_Value = int | bytes


def decode_object(body: bytes) -> dict[str, Any]:
    """Return the object of a body with its `kind` and `apiVersion`.

    Raises:
        ApiError: 400 for bytes that are not a Kubernetes object, 415 for one that is not known.
    """
    if not body.startswith(MAGIC):
        raise bad_request("the body is no protobuf object: it does not begin with k8s and a zero")
    try:
        room = [MOST_VALUES]
        envelope = dict(_records(body[len(MAGIC) :], room))
        kind_of = {
            number: _text(value) for number, value in _records(_raw(envelope.get(1, b"")), room)
        }
        api_version, kind = kind_of.get(1, ""), kind_of.get(2, "")
        group, _, version = api_version.rpartition("/")
        root = root_of(group, version, kind)
        if kind == "DeleteOptions":
            root = Field("", 0, "meta.v1.DeleteOptions")
        if root is None or root.message is None:
            raise ApiError(
                415,
                "UnsupportedMediaType",
                f"the embedded cluster reads no protobuf of {api_version} {kind}; {REMEDY}",
            )
        content = _decode_message(root.message, _raw(envelope.get(2, b"")), 0, room)
    except (ValueError, IndexError, OverflowError, OSError, RecursionError, struct.error) as error:
        raise bad_request(f"the protobuf body cannot be read: {error}; {REMEDY}") from error
    return {"apiVersion": api_version, "kind": kind, **content}


def _decode_message(kind: Message, data: bytes, depth: int, room: list[int]) -> dict[str, Any]:
    if depth > DEEPEST:
        raise ValueError(f"it nests more than {DEEPEST} levels deep")
    content: dict[str, Any] = {}
    for number, value in _records(data, room):
        field = kind.numbers.get(number)
        if field is None:
            raise ApiError(
                415,
                "UnsupportedMediaType",
                f"the embedded cluster knows no protobuf field {number} of {kind.kind}; {REMEDY}",
            )
        if field.inline and field.message is not None:
            content |= _decode_message(field.message, _raw(value), depth + 1, room)
        elif field.shape == "{}":
            key, entry = _map_entry(field, _raw(value), depth, room)
            content.setdefault(field.name, {})[key] = entry
        elif field.shape == "[]":
            content.setdefault(field.name, []).append(_value(field, value, depth, room))
        else:
            read = _value(field, value, depth, room)
            if read not in ("", 0, False, None) or _is_shown_empty(field):
                content[field.name] = read
    return content


def _is_shown_empty(field: Field) -> bool:
    """Say whether JSON holds a value that is zero or empty: Go leaves the others out."""
    return field.pointer or field.required or field.message is not None


def _map_entry(field: Field, data: bytes, depth: int, room: list[int]) -> tuple[str, Any]:
    parts = dict(_records(data, room))
    entry = _value(field, parts[2], depth, room) if 2 in parts else _empty_value(field)
    return _text(parts.get(1, b"")), entry


def _empty_value(field: Field) -> Any:
    return {} if field.message is not None else ""


def _value(field: Field, value: _Value, depth: int, room: list[int]) -> Any:
    if field.message is not None:
        return _decode_message(field.message, _raw(value), depth + 1, room)
    match field.type:
        case "string":
            return _text(value)
        case "int32" | "int64":
            return _to_signed(value)
        case "bool":
            return bool(_to_signed(value))
        case "bytes":
            return base64.b64encode(_raw(value)).decode()
        case "double":
            return struct.unpack("<d", _raw(value))[0]
    return _decode_special(field.type, dict(_records(_raw(value), room)))


def _decode_special(kind: str, parts: dict[int, _Value]) -> Any:
    match kind:
        case "Quantity":
            return _text(parts.get(1, b"")) or "0"
        case "Time" | "MicroTime":
            if not parts:
                return None
            seconds = _to_signed(parts.get(1, 0)) + _to_signed(parts.get(2, 0)) / 1e9
            return rfc3339(seconds) if kind == "Time" else rfc3339_micro(seconds)
        case "IntOrString":
            return _text(parts.get(3, b"")) if parts.get(1) else _to_signed(parts.get(2, 0))
        case "FieldsV1" | "Raw":
            return read_json(_raw(parts.get(1, b"{}")) or b"{}")
        case "Duration":
            return f"{_to_signed(parts.get(1, 0)) / 1e9:g}s"
    raise ApiError(415, "UnsupportedMediaType", f"no protobuf of {kind} is read here; {REMEDY}")


def _records(data: bytes, room: list[int]) -> Iterator[tuple[int, _Value]]:
    """Yield (field number, number or bytes) of a message; raises ValueError, IndexError.

    `room` counts down what may still be read of the whole body.
    """
    at = 0
    while at < len(data):
        room[0] -= 1
        if room[0] < 0:
            raise too_large(f"it holds more than {MOST_VALUES} values")
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == 2:
            size, at = _varint(data, at)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire} at byte {at}")
        if at + size > len(data):
            raise ValueError("it ends too early")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError(f"a number of more than 64 bits at byte {at}")


def _to_signed(value: _Value) -> int:
    if isinstance(value, bytes):
        raise ValueError("bytes stand where a number should")
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def _raw(value: _Value) -> bytes:
    if isinstance(value, int):
        raise ValueError("a number stands where bytes should")
    return value


def _text(value: _Value) -> str:
    return _raw(value).decode("utf-8")
