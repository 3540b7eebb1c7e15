"""Wire format between the NATS adapter and the server: headers, replies and error codes, read
without a connection.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

from bus.errors import BusUnavailable
from bus.port import Message, StoredMessage

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
SIGNATURE = "Foresail-Writer"
"""Which connection published a message; new with each process, no part of the event."""
NO_ROOM = frozenset({10002, 10023, 10028, 10047, 10077})
"""The server's or the account's limits are reached, or the store cannot be written."""
WRONG_LAST_SEQUENCE = frozenset({10071, 10164})
"""10071 answers single publishes, 10164 atomic batches."""
DUPLICATE_IN_BATCH = 10201
TEMPORARY = frozenset({10004, 10008, 10009, 10158, 10163, 10167})
"""No leader right now, or the server is still busy with an earlier try of the same message."""
STREAM_NOT_FOUND = 10059
NO_MESSAGE = 10037
BATCH_END = "204"
NOT_FOUND = "404"

_STAMP = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?Z")
_SERVER_HEADERS = (
    "nats-stream",
    "nats-subject",
    "nats-sequence",
    "nats-time-stamp",
    "nats-last-sequence",
    SIGNATURE.lower(),
)
_SEQ = re.compile(rb"\r\nNats-Sequence: *([1-9][0-9]*)(?=\r\n)")
_TIME = re.compile(rb"\r\nNats-Time-Stamp: *([^\r]+)(?=\r\n)")
_PUBLISH_HEADERS = ("nats-expected-", "nats-batch-", "nats-num-pending", "nats-upto-")


@dataclass(frozen=True, slots=True)
class PublishAck:
    """Answer of the server to a publish."""

    seq: int
    duplicate: bool
    error_code: int
    description: str


def read_ack(data: bytes) -> PublishAck:
    """Read the server's answer to a publish or to the commit of a batch.

    Raises:
        BusUnavailable: it cannot be read, so nothing is known; publishing again is safe.
    """
    try:
        answer = json.loads(data)
        error = answer.get("error") or {}
        ack = PublishAck(
            seq=answer.get("seq", 0),
            duplicate=bool(answer.get("duplicate", False)),
            error_code=error.get("err_code", 0),
            description=error.get("description", ""),
        )
    except (ValueError, RecursionError, AttributeError) as failure:
        raise BusUnavailable(f"an acknowledgement cannot be read: {data[:80]!r}") from failure
    whole = type(ack.seq) is int and ack.seq >= 0 and type(ack.error_code) is int
    if not whole or not isinstance(ack.description, str):
        raise BusUnavailable(f"an acknowledgement makes no sense: {data[:80]!r}")
    return ack


def batch_headers(
    messages: Sequence[Message], batch_id: str, expected: Mapping[str, int]
) -> list[dict[str, str]]:
    """Return the headers of one atomic batch; only the first message of a subject may carry an
    expectation.
    """
    expected_subjects: set[str] = set()
    headers = []
    for number, message in enumerate(messages, start=1):
        own = {**message.headers, "Nats-Batch-Id": batch_id, "Nats-Batch-Sequence": str(number)}
        if message.subject not in expected_subjects:
            own[EXPECTED] = str(expected[message.subject])
            expected_subjects.add(message.subject)
        if number == len(messages):
            own["Nats-Batch-Commit"] = "1"
        headers.append(own)
    return headers


def stored_message(headers: Mapping[str, str] | None, data: bytes) -> StoredMessage:
    """Read a republished or directly fetched message.

    Raises:
        BusUnavailable: the server's own headers are missing or make no sense.
    """
    all_headers = headers or {}
    try:
        seq, time_ns = (
            int(all_headers["Nats-Sequence"]),
            nanoseconds(all_headers["Nats-Time-Stamp"]),
        )
        subject = all_headers["Nats-Subject"]
    except (KeyError, ValueError) as error:
        raise BusUnavailable(f"a stored message has unreadable headers: {error!r}") from error
    if seq < 1:
        raise BusUnavailable(f"a stored message stands at position {seq}")
    return StoredMessage(
        seq=seq,
        time_ns=time_ns,
        subject=subject,
        headers={name: value for name, value in all_headers.items() if not _is_server_header(name)},
        data=data,
    )


def parse_got_message(answer: Mapping[str, Any]) -> tuple[StoredMessage, str] | None:
    """Read the leader's answer to STREAM.MSG.GET: the message with its writer's signature; None when
    there is no such message.

    Raises:
        BusUnavailable: the answer is another error, or cannot be read.
    """
    error = answer.get("error") or {}
    if error.get("err_code") == NO_MESSAGE:
        return None
    try:
        message = answer["message"]
        raw = base64.b64decode(message.get("hdrs", ""))
        headers = dict(header_lines(raw.partition(b"\r\n")[2]))
        signature = headers.get(SIGNATURE, "")
        place = {"Nats-Sequence": str(message["seq"]), "Nats-Time-Stamp": message["time"]}
        headers |= {**place, "Nats-Subject": message["subject"]}
        return stored_message(headers, base64.b64decode(message.get("data", ""))), signature
    except (KeyError, TypeError, AttributeError, ValueError) as failure:
        why = error.get("description", repr(failure))
        raise BusUnavailable(f"the log's leader does not give a message ({why})") from failure


def header_lines(raw: bytes) -> Iterator[tuple[str, str]]:
    """Yield the headers of a stored message, the protocol's own line left out before."""
    for line in raw.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            yield name.decode("utf-8", "replace"), value.strip().decode("utf-8", "replace")


def position_only(subject: str, headers: bytes) -> StoredMessage:
    """Return a republished message without its own headers and payload: where it stands, no more.

    Raises:
        BusUnavailable: the server's own headers are missing.
        ValueError: the time stamp is none.
    """
    seqs, stamps = _SEQ.findall(headers), _TIME.findall(headers)
    if not seqs or not stamps:
        raise BusUnavailable("a stored message has no position or no time")
    # The last of each counts: the server writes its headers behind what the publisher wrote.
    return StoredMessage(int(seqs[-1]), nanoseconds(stamps[-1].decode()), subject, {}, b"")


def status_of(headers: Mapping[str, str] | None) -> str:
    """Return the status of a reply without payload, or an empty string."""
    return str((headers or {}).get("Status", ""))


def nanoseconds(stamp: str) -> int:
    """Read the server's RFC 3339 time stamp with up to nine decimals as nanoseconds since the Unix
    epoch.

    Raises:
        ValueError: it is no such time stamp.
    """
    match = _STAMP.fullmatch(stamp)
    if match is None:
        raise ValueError(f"no time stamp in UTC: {stamp[:40]!r}")
    whole, rest = match.groups()
    return _parse_seconds(whole) * 1_000_000_000 + int((rest or "").ljust(9, "0"))


@lru_cache(maxsize=64)  # thousands of messages share a second
def _parse_seconds(stamp: str) -> int:
    return int(datetime.fromisoformat(f"{stamp}+00:00").timestamp())


@lru_cache(maxsize=1_024)  # the same few names on every message
def _is_server_header(name: str) -> bool:
    lowered = name.lower()
    return lowered in _SERVER_HEADERS or lowered.startswith(_PUBLISH_HEADERS)
