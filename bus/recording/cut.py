"""Cutting a part out of a recording, so that the part can be re-run and looked at like the whole.

Two passes, each holding one frame at a time: the first finds where to begin (see
`bus.recording.start_point`) and to end, the second copies lines as they stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.errors import InputError
from bus.recording.check import FileWalk
from bus.recording.reader import NOT_SEALED, Recording, open_recording
from bus.recording.start_point import Kept, StartFinder, StartPoint
from bus.recording.window import Window
from bus.recording.writer import writing_recording
from schemas.checkpoint import Checkpoint


@dataclass(frozen=True, slots=True)
class CutSummary:
    """Summary of a cut."""

    first_seq: int
    """From here on every message of the log is there, up to `last_seq`."""
    from_seq: int
    """The first message of the window: from here on everything can be re-run."""
    last_seq: int
    heads: int
    """Messages in front, from before `first_seq`: the newest settings, command and data source."""
    messages: int
    complete: bool
    """Whether everything that the window needs was there."""
    gaps: int = 0
    """Places at which messages are missing, since the source is damaged there."""
    damage: str = ""
    """Why the source ends before the window does; empty when it does not."""


@dataclass(frozen=True, slots=True)
class CutSource:
    """A recording to cut from."""

    recording: Recording
    past_damage: bool = False
    """Go on behind damaged places, with what is whole there."""

    @property
    def first_seq(self) -> int:
        """Where its messages stand in a row; 0: from its first message on."""
        cut = self.recording.header.get("cut")
        first = cut.get("first_seq") if isinstance(cut, dict) else None
        return first if type(first) is int else 0

    @property
    def holds_checkpoints(self) -> bool:
        """Whether checkpoints were not left out on purpose."""
        layers = self.recording.header.get("layers")
        return not isinstance(layers, list) or Checkpoint.PATTERN[0] in layers

    def lines(self, first_seq: int = 0) -> Iterator[Kept | None]:
        """Yield messages with their lines, without whole frames before `first_seq`; None where
        messages are missing.
        """
        if not self.past_damage:
            for content in self.recording.whole_frames():
                if content.messages and content.messages[-1].seq >= first_seq:
                    yield from zip(content.messages, content.lines, strict=True)
            return
        walk, stretches, last_seq = FileWalk(self.recording.path), 1, 0
        for content in walk.usable_frames():
            if content.messages[0].seq <= last_seq:
                continue  # a frame out of its place
            if len(walk.found.stretches) > stretches:
                stretches = len(walk.found.stretches)
                yield None
            yield from zip(content.messages, content.lines, strict=True)
            last_seq = content.messages[-1].seq
        if not walk.found.sealed:
            flaws = walk.found.flaws
            self.recording.damage = str(flaws[-1]) if flaws else NOT_SEALED


@dataclass(frozen=True, slots=True)
class LocatedWindow:
    """Where a window lies in a recording."""

    source: CutSource
    start: StartPoint
    from_seq: int
    """The window's first position."""
    last_seq: int
    """The window's last position."""
    damage: str
    """Why looking for the window's end ended early; empty when it did not."""

    def lines(self) -> Iterator[Kept | None]:
        """Yield the heads, then everything from the beginning to the window's end; None for a gap."""
        yield from self.start.heads
        begun = False
        for entry in self.source.lines(self.start.first_seq):
            if entry is None:
                if begun:
                    yield None
            elif entry[0].seq > self.last_seq:
                return
            elif entry[0].seq >= self.start.first_seq:
                begun = True
                yield entry


def locate_window(source: CutSource, window: Window) -> LocatedWindow:
    """Find a window in a recording, and where to begin for it.

    Raises:
        InputError: the recording holds nothing of the window.
    """
    finder = StartFinder(source.first_seq, needs_checkpoints=source.holds_checkpoints)
    start: StartPoint | None = None
    from_seq = last_seq = 0
    for entry in source.lines():
        if entry is None:
            if start is None:
                finder.break_off()
            continue
        message, line = entry
        if window.is_past(message):
            break
        if window.contains(message) and message.seq >= finder.first_seq:
            if start is None:
                start, from_seq = finder.start_for(message.seq), message.seq
            last_seq = message.seq
        if start is None:
            finder.add(message, line)
    if start is None:
        remedy = "give a part that it holds; `foresail recording info` says what that is"
        raise InputError("the window", f"{window} of {source.recording.path.name}", remedy)
    return LocatedWindow(source, start, from_seq, last_seq, source.recording.damage)


def cut_recording(
    path: Path, target: Path, window: Window, *, past_damage: bool = False
) -> CutSummary:
    """Write the part of a recording that a window means, sealed, with what it needs in front.

    Raises:
        InputError: it is no recording, it holds nothing of the window, or the target is there
            already.
    """
    source = CutSource(open_recording(path), past_damage)
    part = locate_window(source, window)
    messages = gaps = 0
    summary: dict[str, Any] = {
        "first_seq": part.start.first_seq,
        "from_seq": part.from_seq,
        "last_seq": part.last_seq,
        "heads": len(part.start.heads),
        "complete": part.start.complete,
    }
    header = {**source.recording.header, "cut": {**summary, "window": str(window)}}
    with writing_recording(target, header) as writer:
        for entry in part.lines():
            if entry is None:
                gaps += 1
            else:
                writer.write(*entry)
                messages += 1
    return CutSummary(**summary, messages=messages, gaps=gaps, damage=part.damage)
