"""The lines of a recording, written and read; no files here."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from bus.nats_wire import nanoseconds
from bus.port import StoredMessage
from schemas.registry import to_json

FORMAT = "foresail-recording"
VERSION = 1
"""Versions that this code reads: 1."""
MAX_FRAME_BYTES = 1024**2
MAX_FRAME_NS = 1_000_000_000


def header_line(content: Mapping[str, Any]) -> bytes:
    """Return the first line: format, version and what can change results."""
    return to_json({"format": FORMAT, "version": VERSION, **content}) + b"\n"


def message_line(message: StoredMessage) -> bytes:
    """Return one message as a line; its data is given back byte for byte by `read_message`.

    Data that our own encoder wrote stands in the line as it is. Other bytes are kept as base64.
    """
    head = {
        "seq": message.seq,
        "time": stamp(message.time_ns),
        "subject": message.subject,
        "headers": dict(message.headers),
    }
    if _canonical(message.data):
        return to_json(head)[:-1] + b',"data":' + message.data + b"}\n"
    return to_json({**head, "data_base64": base64.b64encode(message.data).decode()}) + b"\n"


def trailer_line(messages: int, last_seq: int, digest: str) -> bytes:
    """Return the last line of a frame."""
    return (
        to_json({"frame_end": {"messages": messages, "last_seq": last_seq, "sha256": digest}})
        + b"\n"
    )


def footer_line(messages: int, last_seq: int, digest: str) -> bytes:
    """Return the line that seals a recording."""
    return (
        to_json({"sealed": {"messages": messages, "last_seq": last_seq, "sha256": digest}}) + b"\n"
    )


def read_message(line: Mapping[str, Any]) -> StoredMessage:
    """Return the message of a decoded line.

    Raises:
        KeyError: it is no message line.
        TypeError: a field has the wrong type.
        ValueError: a field has the right type and no meaning.
    """
    subject, headers = line["subject"], line["headers"]
    if not isinstance(subject, str) or not isinstance(headers, dict):
        raise TypeError("subject is a text, headers are an object")
    if not all(isinstance(value, str) for value in headers.values()):
        raise TypeError("headers hold texts")
    packed = line.get("data_base64")
    data = to_json(line["data"]) if packed is None else base64.b64decode(packed, validate=True)
    return StoredMessage(line["seq"], nanoseconds(line["time"]), subject, headers, data)


def stamp(time_ns: int) -> str:
    """Write nanoseconds since the Unix epoch as RFC 3339 UTC with nine decimals."""
    seconds, rest = divmod(time_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def _canonical(data: bytes) -> bool:
    try:
        return to_json(json.loads(data)) == data
    except ValueError:
        return False
