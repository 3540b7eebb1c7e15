"""Objects as protobuf: what clients get that accept nothing else.

Guarantee: the bytes are those of a real server, which writes every field of a message that is no pointer, zero or
not, maps in the order of their keys, and an envelope around it. Kinds without a table have no such form.
"""

from __future__ import annotations

import base64
import json
import struct
from datetime import datetime
from typing import Any

from twin.api.schema.model import Field, Message, root_of
from twin.api.schema.wire import MAGIC

Object = dict[str, Any]
_LIST_METADATA = Field("metadata", 1, "meta.v1.ListMeta")
_META = frozenset(
    {
        "Status",
        "PartialObjectMetadata",
        "APIVersions",
        "APIGroup",
        "APIGroupList",
        "APIResourceList",
    }
)
"""Kinds of meta.v1, which every group has; those of discovery may leave out their version."""


def encode_object(obj: Object) -> bytes | None:
    """Return an object or a list in its envelope; None for a kind without a table."""
    api_version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
    raw = _encode_known(api_version, kind, obj)
    if raw is None:
        return None
    names = _text_field(1, api_version) + _text_field(2, kind)
    envelope = _block(1, names) + _block(2, raw) + _text_field(3, "") + _text_field(4, "")
    return MAGIC + envelope


def encode_event(line: bytes) -> bytes | None:
    """Return a line of a watch as a frame: its length, then type and object; None as above."""
    event = json.loads(line)
    inner = encode_object(event["object"])
    if inner is None:
        return None
    frame = _text_field(1, event["type"]) + _block(2, _block(1, inner))
    return struct.pack(">I", len(frame)) + frame


def _encode_known(api_version: str, kind: str, obj: Object) -> bytes | None:
    single = kind.removesuffix("List")
    root = _place_of(api_version, kind)
    if root is not None and root.message is not None:
        return _message(root.message, obj)
    root = _place_of(api_version, single)
    if root is None or root.message is None or "items" not in obj:
        return None
    of_item = root.message
    items = b"".join(_block(2, _message(of_item, item)) for item in obj["items"])
    return _field(_LIST_METADATA, obj.get("metadata") or {}) + items


def _place_of(api_version: str, kind: str) -> Field | None:
    if kind in _META:
        return Field("", 0, f"meta.v1.{kind}")
    group, _, version = api_version.rpartition("/")
    return root_of(group, version, kind)


def _message(kind: Message, obj: Object) -> bytes:
    parts = []
    for field in sorted(kind.own, key=lambda each: each.number):
        if field.inline and field.message is not None:
            parts.append(_block(field.number, _message(field.message, obj)))
        else:
            parts.append(_field(field, obj.get(field.name)))
    return b"".join(parts)


def _field(field: Field, value: Any) -> bytes:
    """Return a member of a message; an absent one is left out if it may be."""
    if field.shape == "[]":
        return b"".join(_single(field, each) for each in value or ())
    if field.shape == "{}":
        entries = sorted((value or {}).items())
        return b"".join(
            _block(field.number, _text_field(1, key) + _single(field, each, 2))
            for key, each in entries
        )
    if value is None and (field.pointer or field.type in ("bytes", "Raw", "FieldsV1")):
        return b""
    return _single(field, value)


def _single(field: Field, value: Any, number: int | None = None) -> bytes:
    """Return one value with the number of its field."""
    at = field.number if number is None else number
    if field.message is not None:
        return _block(at, _message(field.message, value or {}))
    match field.type:
        case "string":
            return _text_field(at, str(value or ""))
        case "int32" | "int64" | "bool":
            return _number_field(at, int(value or 0))
        case "bytes":
            return _block(at, base64.b64decode(value or ""))
        case "double":
            return _varint(at << 3 | 1) + struct.pack("<d", float(value or 0))
    return _block(at, _special(field.type, value))


def _special(kind: str, value: Any) -> bytes:
    match kind:
        case "Quantity":
            return _text_field(1, str(value or "0"))
        case "Time" | "MicroTime":
            if not value:
                return b""
            seconds, nanos = _moment(str(value))
            return _number_field(1, seconds) + _number_field(2, nanos)
        case "IntOrString":
            text = isinstance(value, str)
            whole = 0 if text else int(value or 0)
            return (
                _number_field(1, int(text))
                + _number_field(2, whole)
                + _text_field(3, value if text else "")
            )
        case "Duration":
            return _number_field(1, round(float(str(value or "0s").removesuffix("s")) * 1e9))
        case "Extra":
            return b"".join(_text_field(1, str(each)) for each in value or ())
    return _block(1, json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def _moment(text: str) -> tuple[int, int]:
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp() // 1), moment.microsecond * 1_000


def _text_field(number: int, text: str) -> bytes:
    return _block(number, text.encode())


def _number_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _block(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)
