"""Where a recording must begin so that everything from a wanted position on can be re-run.

A recording that begins inside a log opens at the smallest position that covers three needs:

- every process that keeps state has a checkpoint before the wanted position, and the recording
  holds all that was stored after what that checkpoint has folded;
- of each kind of framed data (snapshots, observations) the newest keyframe before the wanted
  position is there, so that every delta from there on resolves;
- in front stand, out of their place, the newest settings, operator's command and data source from
  before the opening: a derived event names the settings that shaped it.

Where the log itself begins later than a need, the opening is its first position.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from bus.identities import keeps_state
from bus.port import StoredMessage
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.history import HistoryBlock
from schemas.model import Retention
from schemas.registry import EVENT_TYPES

FRAMED = frozenset(kind.PATTERN for kind in EVENT_TYPES if kind.RETENTION is Retention.FRAMED)
STANDING = tuple(
    tuple(token for token in kind.PATTERN if token != "*")
    for kind in EVENT_TYPES
    if kind.RETENTION is Retention.STANDING
)
"""Beginnings of subjects whose newest message holds until the next one."""
KEPT_WHOLE = HistoryBlock.PATTERN[:1]
"""Beginning of subjects that hold, all together, what no checkpoint has room for."""
_KEYFRAME = b'"frame":{"frame":"keyframe"'
_DELTA = b'"frame":{"frame":"delta"'
_LOOK_BYTES = 200
"""The frame's kind stands near the beginning of framed data."""

Kept = tuple[StoredMessage, bytes]
"""A message and its line."""


@dataclass(frozen=True, slots=True)
class StartPoint:
    """Where and with what a recording begins."""

    first_seq: int
    """From here on it holds every message of the log."""
    complete: bool
    """Whether every need is met; otherwise the log began too late."""
    heads: tuple[Kept, ...]
    """Messages from before, with their lines, in order of position."""


@dataclass(slots=True)
class StartFinder:
    """State of a scan over a log, in order, as far as it matters for a beginning after it."""

    first_seq: int = 0
    """Position of the first message seen in a row, messages before it are heads; 0: none yet."""
    applied_seqs: dict[str, int | None] = field(default_factory=dict)
    """By process that keeps state: what its newest checkpoint has folded."""
    keyframes: dict[str, int | None] = field(default_factory=dict)
    """By subject of framed data: position of the newest keyframe."""
    needs_checkpoints: bool = True
    """Whether a beginning needs the processes' checkpoints; not where they are left out on purpose."""
    standing: dict[str, list[Kept]] = field(default_factory=dict)
    """By subject: the newest standing message of before the opening, and those behind that."""

    kept: list[Kept] = field(default_factory=list)
    """Messages of `KEPT_WHOLE` so far."""

    def add(self, message: StoredMessage, line: bytes = b"") -> None:
        """See the next message; `line` is kept with it when it may become a head."""
        self.first_seq = self.first_seq or message.seq
        kind, name = _role_of(message.subject)
        if kind is _SubjectRole.STANDING:
            self._add_standing(name, message, line)
        elif kind is _SubjectRole.KEPT:
            self.kept.append((message, line))
        elif message.seq < self.first_seq:
            return
        elif kind is _SubjectRole.FRAMED:
            newest = message.seq if is_keyframe(message.data) else self.keyframes.get(name)
            self.keyframes[name] = newest
        elif kind is _SubjectRole.CHECKPOINT:
            self._take_checkpoint(name, message)

    def break_off(self) -> None:
        """Messages are missing here: what was seen before opens nothing that comes after."""
        self.first_seq = 0
        self.applied_seqs = dict.fromkeys(self.applied_seqs)
        self.keyframes = dict.fromkeys(self.keyframes)

    def start_for(self, wanted_seq: int) -> StartPoint:
        """Return where to begin for a wanted position, given the messages seen before it."""
        needs = [seq if seq is None else seq + 1 for seq in self.applied_seqs.values()]
        needs += self.keyframes.values()
        first = self.first_seq or wanted_seq
        known = [need for need in needs if need is not None]
        if len(known) < len(needs):
            begin, complete = first, first == 1
        else:
            least = min([*known, wanted_seq])
            begin, complete = max(least, first), least >= first
        heads = [
            newest
            for entries in self.standing.values()
            for newest in [entry for entry in entries if entry[0].seq < begin][-1:]
        ]
        heads += [entry for entry in self.kept if entry[0].seq < begin]
        return StartPoint(begin, complete, tuple(sorted(heads, key=lambda head: head[0].seq)))

    def _take_checkpoint(self, process: str, message: StoredMessage) -> None:
        self.applied_seqs.setdefault(process, None)
        try:
            applied = json.loads(message.data)["folded_seq"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return  # no checkpoint to begin with; `check` names it
        if type(applied) is int and 0 <= applied < message.seq:
            self.applied_seqs[process] = applied

    def _add_standing(self, process: str, message: StoredMessage, line: bytes) -> None:
        if self.needs_checkpoints and keeps_state(process):
            self.applied_seqs.setdefault(process, None)
        entries = [*self.standing.get(message.subject, ()), (message, line)]
        begin = self.start_for(message.seq).first_seq
        older = [entry for entry in entries if entry[0].seq < begin]
        self.standing[message.subject] = entries[max(len(older) - 1, 0) :]


class _SubjectRole(Enum):
    """Role of a subject for a beginning."""

    FRAMED = "framed"
    CHECKPOINT = "checkpoint"
    STANDING = "standing"
    KEPT = "kept"
    OTHER = "other"


@lru_cache(maxsize=4_096)
def _role_of(subject: str) -> tuple[_SubjectRole, str]:
    """Return what a subject means, and the process or subject that it is about."""
    try:
        tokens = subjects.parse(subject).tokens
    except ValueError:
        return _SubjectRole.OTHER, ""
    if tokens in FRAMED:
        return _SubjectRole.FRAMED, subject
    if tokens[0] == Checkpoint.PATTERN[0]:
        return _SubjectRole.CHECKPOINT, tokens[-1]
    if tokens[:1] == KEPT_WHOLE:
        return _SubjectRole.KEPT, ""
    if tokens[:1] in STANDING or tokens[:2] in STANDING:
        return _SubjectRole.STANDING, tokens[-1] if tokens[0] == Config.PATTERN[0] else ""
    return _SubjectRole.OTHER, ""


def is_keyframe(data: bytes) -> bool:
    """Say whether framed data is a keyframe, looking no further than needed."""
    head = data[:_LOOK_BYTES]
    if _KEYFRAME in head:
        return True
    if _DELTA in head:
        return False
    try:
        return bool(json.loads(data)["frame"]["frame"] == "keyframe")
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
