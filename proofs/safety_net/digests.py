"""What is kept of a recording: of each family of events how many there are, their digest, and a mark for each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from bus.port import StoredMessage
from bus.recording import open_recording
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import attributes_of
from schemas.registry import to_json

Digests = Mapping[str, str]
"""By family, such as `proposal.safety` (the first two tokens of its subjects): count, SHA-256 and marks."""
Places = Mapping[str, list[str]]
"""By family: each event and where it stands, for people."""
MARKS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"
"""Each event's mark is drawn from the digest up to it: two logs part where their marks do first (one time in 64 a
place later).
"""
DIGITS = 32
"""Of a SHA-256, 128 bits."""
VERSIONED = ("code_version", "config_hash", "replaces")
"""Fields of `config` events that change with the code's version."""


def digest_recording(path: Path) -> tuple[Digests, Places]:
    """Return the digests of a sealed recording, and its events.

    Raises:
        ValueError: it is damaged.
    """
    running: dict[str, hashlib._Hash] = {}
    marks: dict[str, str] = {}
    places: dict[str, list[str]] = {}
    recording = open_recording(path)
    for message in recording:
        attributes = attributes_of(message.headers)
        if attributes["type"] == Checkpoint.TYPE:
            continue
        family = ".".join(subjects.parse(message.subject).tokens[:2])
        digest = running.setdefault(family, hashlib.sha256())
        for part in _compared(message, attributes):
            digest.update(len(part).to_bytes(8, "big") + part)
        marks[family] = marks.get(family, "") + MARKS[digest.digest()[0] % len(MARKS)]
        place = f"{attributes['type']}, {attributes['correlationid']}, id {attributes['id']}"
        places.setdefault(family, []).append(f"{place}, seq {message.seq}")
    if recording.damage:
        raise ValueError(f"{path}: {recording.damage}")
    return {
        family: f"{len(marks[family])} {running[family].hexdigest()[:DIGITS]} {marks[family]}"
        for family in sorted(running)
    }, places


def _compared(message: StoredMessage, attributes: Mapping[str, str]) -> tuple[bytes, ...]:
    identity, data = attributes["id"], message.data
    if attributes["type"] == Config.TYPE:
        content = json.loads(data)
        identity = ""  # made of the hash
        data = to_json({name: content[name] for name in content if name not in VERSIONED})
    texts = (identity, attributes["type"], message.subject, attributes.get("causationid", ""))
    return (*(text.encode() for text in texts), data)


def differences(known: Digests, played: Digests, places: Places) -> Iterator[str]:
    """Yield a line for each family that is not as it was, with the first event that differs."""
    for family in sorted({*known, *played}):
        was, now = known.get(family, "0  "), played.get(family, "0  ")
        if was == now:
            continue
        (before, _, old), (after, _, new) = was.split(" "), now.split(" ")
        shorter = min(len(old), len(new))
        at = next((place for place in range(shorter) if old[place] != new[place]), shorter)
        at = min(at, max(len(old), len(new)) - 1)  # the last one's mark may be equal by chance
        event = places[family][at] if at < len(new) else "which is gone"
        yield f"{family}: {after} events, were {before}; first difference: number {at + 1}, {event}"
