"""Redacting a recording: other names everywhere, and everything that depends on names made anew.

Names are replaced one way, under a salt; ids, positions, times and numbers stay, so every join holds
and decisions do not change. Made anew are hashes over names: of full tables, of features (by asking
inference again) and of settings, with the ids of the events that announce those; and checkpoints
that hold packed history (by applying again).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bus.errors import InputError, Permanent
from bus.port import StoredMessage
from bus.recording import Recording, RecordingWriter, open_recording
from bus.recording.format import message_line
from bus.recording.writer import writing_recording
from lab.recordings.redaction import CollectedNames, Renaming
from lab.recordings.rederivation import Folded, Rederivation, Views
from lab.rerun.engine import Plan, Rerun
from lab.rerun.settings import NO_CHANGES, Changes
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import attributes_of
from schemas.frames import FramedData
from schemas.observation import Observation
from schemas.prediction import Prediction
from schemas.registry import BY_TYPE, to_json
from schemas.untouched import UntouchedObservation

SHOWN_LEAKS = 5
KEPT_VIEWS = 16
"""The first observations that checkpoints hold; deltas in front of the first keyframe need one."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """Summary."""

    messages: int
    names: int
    """Different names replaced."""
    damage: str
    """Why reading the source ended early; empty when it did not."""


def redact(
    path: Path,
    target: Path,
    salt: bytes,
    changes: Changes = NO_CHANGES,
    *,
    on_message: Callable[[StoredMessage], None] | None = None,
) -> Redacted:
    """Write a recording with other names, sealed.

    Memory grows with the number of different names, not with the recording.

    Args:
        path: the recording.
        target: a new file.
        salt: decides the other names; 16 bytes or more.
        changes: settings that do not travel, such as where a model lies.
        on_message: called with every message when it is written, for progress. Reading the names
            before that takes a small part of the time.

    Raises:
        InputError: it is no recording, it holds what cannot be redacted, or the target is there.
        Permanent: a name would still stand in the result; nothing is written.
    """
    recording = open_recording(path)
    gathered = CollectedNames()
    gathered.take(recording.header)
    views: Views = {}
    for message in recording:
        content = _content(message)
        gathered.take(content)
        if len(views) < KEPT_VIEWS:
            views.update(_view_in(content))
    renaming = Renaming(gathered, salt)
    header = {**renaming.take(recording.header), "redacted": True}
    with writing_recording(target, header) as writer:
        rewriting = _Rewriting(recording, renaming, writer, views, changes)
        rewriting.on_message = on_message
        rewriting.run()
    return Redacted(rewriting.messages, len(renaming.names), recording.damage)


class _Rewriting:
    """The second pass over a recording."""

    def __init__(
        self,
        recording: Recording,
        renaming: Renaming,
        writer: RecordingWriter,
        views: Views,
        changes: Changes,
    ) -> None:
        self._recording = recording
        self._renaming = renaming
        self._writer = writer
        header = recording.header
        self._rerun = Rerun(header, Plan(frozenset(("prediction",)), changes))
        origin = self._rerun.origin
        self._anew = Rederivation(origin, renaming, views)
        self._folded = Folded(origin, whole="cut" not in header, changes=changes)
        self._features: dict[int, str] = {}
        """By position: what a prediction's features hash to under the new names."""
        self.messages = 0
        self.on_message: Callable[[StoredMessage], None] | None = None

    def run(self) -> None:
        """Write every message with other names."""
        for pair in self._rerun.pairs(self._renamed_messages()):
            data = None if pair.computed is None else pair.computed.data
            if isinstance(data, Prediction):
                self._features[pair.recorded.message.seq] = data.features_hash

    def _renamed_messages(self) -> Iterator[StoredMessage]:
        """Yield messages with other names to the re-run; each is written once that is done with it."""
        newest: StoredMessage | None = None
        for message in self._recording:
            renamed = self._redact_message(message)
            if newest is not None:
                self._write(newest)
            newest = renamed
            yield renamed
        if newest is not None:
            self._write(newest)

    def _redact_message(self, message: StoredMessage) -> StoredMessage:
        before = _content(message)
        event_type = attributes_of(message.headers).get("type", "")
        kind = BY_TYPE.get(event_type)
        if not isinstance(before, dict) or kind is None:
            return replace(message, data=self._unreadable(message))
        try:
            content = self._renaming.event(event_type, before)
            if issubclass(kind, FramedData):
                self._anew.set_state_hash(kind, content)
            elif kind is Config:
                self._anew.set_config_hash(before, content)
            elif kind is Checkpoint:
                content["state"] = self._anew.rename_states(content["state"])
                self._folded.checkpoint(content)
            headers = self._anew.headers(message, content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = (
                f"seq {message.seq} is no event that can be redacted ({error!r}); cut it away first"
            )
            raise InputError("recording", self._recording.path, why) from error
        renamed = replace(message, headers=headers, data=to_json(content))
        self._folded.take(renamed)
        return renamed

    def _write(self, message: StoredMessage) -> None:
        kind = BY_TYPE.get(attributes_of(message.headers).get("type", ""))
        if kind is not None and issubclass(kind, Prediction):
            message = replace(message, data=self._with_features(message))
        line = message_line(message)[:-1]
        leaks = sorted(self._renaming.leaks(line.decode()))
        if leaks:
            shown = ", ".join(leaks[:SHOWN_LEAKS])
            raise Permanent(f"seq {message.seq} would still name {shown}; nothing was written")
        self._writer.write(message, line)
        self.messages += 1
        if self.on_message is not None:
            self.on_message(message)

    def _with_features(self, message: StoredMessage) -> bytes:
        """Return a prediction with the hash of its features as they are now."""
        content = json.loads(message.data)
        made = self._features.pop(message.seq, None)
        if made is not None:
            content["features_hash"] = made
        elif content["status"] == "result":
            content["features_hash"] = self._renaming.placeholder(content["features_hash"])
        return to_json(content)

    def _unreadable(self, message: StoredMessage) -> bytes:
        """Return what stands for a message that is no event of ours: its bytes could hold any name."""
        return to_json({"redacted": self._renaming.placeholder(message.data.hex())})


def _view_in(content: Any) -> Views:
    """Return the observations that a checkpoint holds, by type and cycle."""
    state = _part_of(content, "state")
    views = {
        Observation.TYPE: _part_of(state, "view"),
        UntouchedObservation.TYPE: _part_of(_part_of(state, "worlds"), "untouched_view"),
    }
    return {(kind, view["cycle"]): view for kind, view in views.items() if "cycle" in view}


def _part_of(content: Any, name: str) -> dict[str, Any]:
    part = content.get(name) if isinstance(content, dict) else None
    return part if isinstance(part, dict) else {}


def _content(message: StoredMessage) -> Any:
    try:
        return json.loads(message.data)
    except (ValueError, RecursionError):
        return None
