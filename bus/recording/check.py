"""Checking a recording as a file: where it is damaged, and what can be used before and behind that.

Frames are independent. Behind a damaged one the walk goes on at the next frame that is whole by its
own checksum. Version 2 then proves that frame by its own hash; version 1 cannot, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from bus.errors import InputError
from bus.recording.content import Content, ContentDamaged, parse_frame
from bus.recording.format import FORMAT, READABLE, VERSION, parse_object_line
from bus.recording.frames import CUT_OFF, Frame, FrameDamaged, next_whole_frame, read_frames
from bus.recording.links import FrameLinks, links_of
from bus.recording.reader import BUFFER_BYTES
from schemas.wording import count_text

KEPT_FLAWS = 1_000
"""Flaws listed; of a file with more of them the others are counted."""


@dataclass(frozen=True, slots=True)
class DamagedPlace:
    """One damaged place."""

    frame: int
    """Number of the frame in the file, from 1; bytes that cannot be unpacked count as one."""
    offset_bytes: int
    """Where it begins in the file."""
    after_seq: int
    """Position of the last message that can be used before it; 0: none."""
    why: str
    at_end: bool = False
    """The file ends within this frame, as one whose writer was cut off."""

    def __str__(self) -> str:
        """One line for people."""
        place = f"frame {self.frame} (byte {self.offset_bytes:,}), behind seq {self.after_seq}"
        return f"{place}: {self.why}"


@dataclass(slots=True)
class UsableRange:
    """Whole frames without a flaw between them."""

    first_frame: int
    last_frame: int
    first_seq: int
    last_seq: int
    messages: int
    proven: bool
    """By hashes; otherwise only by counts and checksums (version 1 behind a flaw)."""


@dataclass(slots=True)
class FileCheck:
    """Result of the walk; complete after `usable_frames` was read to its end."""

    path: Path
    bytes: int = 0
    header: dict[str, Any] | None = None
    """None when the first line is lost."""
    frames: int = 0
    messages: int = 0
    """Messages in usable frames."""
    sealed: bool = False
    flaws: list[DamagedPlace] = field(default_factory=list)
    flaws_left_out: int = 0
    stretches: list[UsableRange] = field(default_factory=list)
    """What can be used."""

    @property
    def cut_off(self) -> bool:
        """Whether it only ends too early: what is there is as it was written."""
        only_end = all(flaw.at_end for flaw in self.flaws) and not self.flaws_left_out
        return not self.sealed and only_end

    @property
    def whole(self) -> bool:
        """Whether every frame is there as it was written, the footer too."""
        return self.sealed and not self.flaws

    def add(self, flaw: DamagedPlace) -> None:
        """Note one damaged place."""
        if len(self.flaws) < KEPT_FLAWS:
            self.flaws.append(flaw)
        else:
            self.flaws_left_out += 1


class FileWalk:
    """One pass over a file; read `usable_frames` to its end, then look at `found`."""

    def __init__(self, path: Path) -> None:
        """Name the file; nothing is read yet."""
        self.found = FileCheck(path)
        self._links: FrameLinks = links_of(VERSION)
        self._last_usable = 0
        self.at_byte = 0
        """Where the newest frame that could be unpacked begins."""
        self._broken = True
        """The next usable frame begins a new stretch."""
        self._unsettled = False
        """The newest flaw does not say yet how many messages are lost."""

    def usable_frames(self) -> Iterator[Content]:
        """Yield every usable frame with messages, in the order of the file.

        Raises:
            InputError: the file cannot be read, or is of a version that this code does not know.
        """
        path, file_check = self.found.path, self.found
        try:
            file_check.bytes = path.stat().st_size
            with path.open("rb", buffering=BUFFER_BYTES) as file:
                for frame in self._frames(file):
                    if file_check.sealed:
                        file_check.sealed = False
                        self._add_damage(frame.offset, "it stands behind the footer")
                    content = self._parse(frame)
                    if content is not None and self._accept(content, frame):
                        yield content
        except OSError as error:
            remedy = f"give a recording that can be read ({error.strerror})"
            raise InputError("recording", path, remedy) from error

    def _frames(self, file: BinaryIO) -> Iterator[Frame]:
        """Yield frames that can be unpacked, skipping what lies between them."""
        offset: int | None = 0
        while offset is not None:
            file.seek(offset)
            try:
                for frame in read_frames(file):
                    self.found.frames += 1
                    self.at_byte = frame.offset
                    yield frame
            except FrameDamaged as error:
                self.found.frames += 1
                offset = next_whole_frame(file, error.offset + 1)
                end = self.found.bytes if offset is None else offset
                why = f"{error.why}; {end - error.offset:,} bytes are lost"
                self._add_damage(error.offset, why, at_end=offset is None and error.why == CUT_OFF)
                self._links.note_gap()
            else:
                return

    def _parse(self, frame: Frame) -> Content | None:
        """Take a frame apart; None when that cannot be done."""
        number = self.found.frames
        try:
            content = parse_frame(frame, number, 0)
            if number == 1 and not content.sealed and not self._read_header(content):
                self._add_damage(frame.offset, "its first line is no header")
                self._links.note_gap()
                content = parse_frame(frame, number + 1, 0)
        except ContentDamaged as error:
            self._add_damage(frame.offset, error.why)
            self._links.note_gap()
            return None
        return content

    def _read_header(self, content: Content) -> bool:
        try:
            header = parse_object_line(content.header)
        except ValueError:
            return False
        if header.get("format") != FORMAT:
            return False
        version = header.get("version")
        if isinstance(version, bool) or version not in READABLE:
            remedy = f"its format is version {version}; use a newer Foresail"
            raise InputError("recording", self.found.path, remedy)
        self.found.header = header
        self._links = links_of(version)
        return True

    def _accept(self, content: Content, frame: Frame) -> bool:
        """Hold a frame against those before it; whether its messages can be used."""
        if content.sealed:
            self.found.sealed = self._links.fits_footer(content)
            self._note_missing_at_end(content)
            if not self.found.sealed and not self.found.flaws:
                self._add_damage(frame.offset, "the footer does not fit what stands before it")
            return False
        verdict = self._links.judge(content)
        if verdict.why:
            self._add_damage(frame.offset, verdict.why)
        elif verdict.missing and self._unsettled:
            self._note_missing(verdict.missing, content)
        self._unsettled = self._unsettled and not verdict.usable
        if verdict.usable:
            self._extend_usable(content, proven=verdict.proven)
        return verdict.usable and bool(content.messages)

    def _add_damage(self, offset: int, why: str, *, at_end: bool = False) -> None:
        self.found.add(DamagedPlace(self.found.frames, offset, self._last_usable, why, at_end))
        self._broken = self._unsettled = True

    def _note_missing(self, missing: int, content: Content) -> None:
        """Say at the newest flaw how many messages it cost, now that a trailer tells."""
        if self.found.flaws and not self.found.flaws_left_out and content.messages:
            flaw = self.found.flaws[-1]
            lost = f"{count_text(missing, 'message is', 'messages are')} lost before seq {content.messages[0].seq}"
            self.found.flaws[-1] = replace(flaw, why=f"{flaw.why}; {lost}")

    def _note_missing_at_end(self, footer: Content) -> None:
        """Say at the only flaw how many messages it cost, when no frame behind it could tell."""
        total = footer.said.get("messages")
        missing = total - self.found.messages if isinstance(total, int) else 0
        if self._unsettled and len(self.found.flaws) == 1 and missing > 0:
            (flaw,) = self.found.flaws
            self.found.flaws[0] = replace(
                flaw,
                why=f"{flaw.why}; {count_text(missing, 'message is', 'messages are')} lost before the footer",
            )
            self._unsettled = False

    def _extend_usable(self, content: Content, *, proven: bool) -> None:
        file_check = self.found
        file_check.messages += len(content.messages)
        if not content.messages:
            return
        first, self._last_usable = content.messages[0].seq, content.messages[-1].seq
        if self._broken:
            stretch = UsableRange(content.number, content.number, first, first, 0, proven)
            file_check.stretches.append(stretch)
            self._broken = False
        newest = file_check.stretches[-1]
        newest.last_frame, newest.last_seq = content.number, self._last_usable
        newest.messages += len(content.messages)


def check_file(path: Path, on_bytes: Callable[[float], None] | None = None) -> FileCheck:
    """Walk over a whole file; see `FileCheck`. `on_bytes` is called with the bytes read so far."""
    walk = FileWalk(path)
    for content in walk.usable_frames():
        del content
        if on_bytes is not None:
            on_bytes(walk.at_byte)
    return walk.found
