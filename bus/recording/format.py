"""The lines of a recording, written and read; no files here.

A message's data stands in its line byte for byte, so reading it back is slicing the line. Only the
few fields before it are decoded.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from bus.nats_wire import nanoseconds
from bus.port import StoredMessage
from schemas.registry import to_json

FORMAT = "foresail-recording"
VERSION = 2
"""What is written. Read are 1 (one running hash over all lines) and 2 (a chain of frame hashes)."""
READABLE = (1, 2)
MAX_FRAME_BYTES = 1024**2
MAX_FRAME_NS = 1_000_000_000

_DATA = b'},"data":'
"""Where headers end and data begins. No text in JSON can hold it, since a quote inside a text is
escaped, and headers hold texts alone; so its first place in a line is the one."""


class _MessageFields(msgspec.Struct, forbid_unknown_fields=True):
    """The fields before the data, in the order in which they are written."""

    seq: int
    time: str
    subject: str
    headers: dict[str, str]


class _MessageLine(msgspec.Struct):
    """A message line of any form; `data` keeps the bytes that stand there."""

    seq: int
    time: str
    subject: str
    headers: dict[str, str]
    data: msgspec.Raw | None = None
    data_base64: str | None = None


_read_head = msgspec.json.Decoder(_MessageFields).decode
_read_line = msgspec.json.Decoder(_MessageLine).decode


def header_line(content: Mapping[str, Any]) -> bytes:
    """Return the first line: format, version and what can change results.

    `content` may be another recording's header: its version gives way to the one written here.
    """
    rest = {name: value for name, value in content.items() if name not in {"format", "version"}}
    return to_json({"format": FORMAT, "version": VERSION, **rest}) + b"\n"


def message_line(message: StoredMessage) -> bytes:
    """Return one message as a line; its data is given back byte for byte by `read_message`.

    Data that our own encoder wrote stands in the line as it is. Other bytes are kept as base64.
    """
    head = {
        "seq": message.seq,
        "time": rfc3339_nanoseconds(message.time_ns),
        "subject": message.subject,
        "headers": dict(message.headers),
    }
    if _is_canonical_json(message.data):
        return to_json(head)[:-1] + b',"data":' + message.data + b"}\n"
    return to_json({**head, "data_base64": base64.b64encode(message.data).decode()}) + b"\n"


def trailer_line(proof: Mapping[str, Any]) -> bytes:
    """Return the last line of a frame."""
    return to_json({"frame_end": proof}) + b"\n"


def footer_line(proof: Mapping[str, Any]) -> bytes:
    """Return the line that seals a recording."""
    return to_json({"sealed": proof}) + b"\n"


def read_message(line: bytes) -> StoredMessage:
    """Return the message of a line without its line end.

    Lines as `message_line` writes them are cut at the data, which is not looked into: the frame's
    hash has proven it. Lines of any other form are decoded whole, and give the data that stands in
    them all the same.

    Raises:
        ValueError: it is no message line.
    """
    at = line.find(_DATA)
    if at > 0 and line.endswith(b"}"):
        try:
            head = _read_head(line[: at + 1] + b"}")
        except msgspec.MsgspecError:
            return _other_message(line)
        data = line[at + len(_DATA) : -1]
        return StoredMessage(head.seq, nanoseconds(head.time), head.subject, head.headers, data)
    return _other_message(line)


def _other_message(line: bytes) -> StoredMessage:
    try:
        read = _read_line(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if read.data_base64 is not None:
        data = base64.b64decode(read.data_base64, validate=True)
    elif read.data is not None:
        data = bytes(read.data)
    else:
        raise ValueError("it holds no data")
    return StoredMessage(read.seq, nanoseconds(read.time), read.subject, read.headers, data)


def parse_object_line(line: bytes) -> dict[str, Any]:
    """Return a header, trailer or footer line as a JSON object.

    Raises:
        ValueError: it is none.
    """
    try:
        content = json.loads(line)
    except RecursionError as error:
        raise ValueError("too deep") from error
    if not isinstance(content, dict):
        raise ValueError("no object")
    return content


def rfc3339_nanoseconds(time_ns: int) -> str:
    """Write nanoseconds since the Unix epoch as RFC 3339 UTC with nine decimals."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _is_canonical_json(data: bytes) -> bool:
    try:
        return to_json(json.loads(data)) == data
    except (ValueError, RecursionError):
        return False
