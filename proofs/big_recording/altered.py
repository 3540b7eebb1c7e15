"""A copy of a recording that differs in one late decision: what `diff` must find, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from bus.port import StoredMessage
from bus.recording import open_recording
from bus.recording.writer import writing_recording

OTHER_TARGET = "somewhere-else"


def last_decision(path: Path) -> StoredMessage:
    """Return a recording's newest decision that has a target; one pass.

    Raises:
        ValueError: it has none.
    """
    decision = None
    for message in open_recording(path):
        if message.subject.endswith(".decision") and _target_of(message):
            decision = message
    if decision is None:
        raise ValueError(f"{path.name} holds no decision with a target")
    return decision


def write_altered(path: Path, target: Path, late: StoredMessage) -> int:
    """Write a sealed copy in which the decision `late` names another target; return its cycle.

    Every other line is the recording's own. The last frame of a recording that is not sealed may be
    missing from the copy, as from every reading of it.
    """
    data = json.loads(late.data)
    _part_of(data)["action"]["target"]["name"] = OTHER_TARGET
    changed = json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()
    recording = open_recording(path)
    with writing_recording(target, recording.header) as writer:
        for content in recording.whole_frames():
            for message, line in zip(content.messages, content.lines, strict=True):
                if message.seq == late.seq:
                    writer.write(replace(message, data=changed))
                else:
                    writer.write(message, line)
    return int(data["cycle"])


def _target_of(message: StoredMessage) -> str:
    return str((_part_of(json.loads(message.data))["action"].get("target") or {}).get("name") or "")


def _part_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return the first part of a decision; of one of version 1, which had no parts, all of it."""
    part: dict[str, Any] = data.get("parts", [data])[0]
    return part
