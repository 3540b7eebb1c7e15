"""The lines of one frame: taken apart, and held against what its trailer says."""

from __future__ import annotations

from dataclasses import dataclass, field

from bus.errors import RecordingDamaged
from bus.port import StoredMessage
from bus.recording.format import parse_object_line, read_message
from bus.recording.frames import Frame
from bus.recording.proof import Proof, Said


class ContentDamaged(RecordingDamaged):
    """A frame that can be unpacked does not hold what it should."""

    def __init__(self, why: str, number: int, frame: Frame, last_seq: int) -> None:
        """Say why, in which frame, and behind which position."""
        super().__init__(f"frame {number} (byte {frame.offset:,}): {why}")
        self.why = why
        self.number = number
        self.offset = frame.offset
        self.last_seq = last_seq
        """Position of the last message before the damage."""


@dataclass(slots=True)
class Content:
    """Content of one frame."""

    number: int
    """Its number in the file, from 1."""
    offset: int = 0
    """Where it begins in the file, in bytes."""
    header: bytes = b""
    """The first frame's first line."""
    lines: list[bytes] = field(default_factory=list)
    """Message lines without their line ends."""
    messages: list[StoredMessage] = field(default_factory=list)
    body: bytes = b""
    """Everything before the trailer."""
    trailer: bytes = b""
    said: Said = field(default_factory=dict)
    """What the trailer or the footer says."""
    sealed: bool = False
    """It is the footer."""


def parse_frame(frame: Frame, number: int, last_seq: int) -> Content:
    """Return a frame's content; nothing is proven yet.

    Args:
        frame: the unpacked frame.
        number: its number in the file, from 1.
        last_seq: position of the last message before it.

    Raises:
        ContentDamaged: a line is not what it should be, or positions do not go up.
    """
    text = frame.text
    at = text.rfind(b"\n", 0, -1) + 1
    body, trailer = text[:at], text[at:]
    content = Content(number, frame.offset, body=body, trailer=trailer)
    kind = _read_last_line(frame, content, last_seq)
    content.sealed = kind == "sealed"
    lines = body.split(b"\n")[:-1]
    if number == 1 and lines:
        content.header = lines.pop(0)
    if content.sealed and (lines or content.header):
        raise ContentDamaged("something stands before the footer", number, frame, last_seq)
    content.lines = lines
    for place, line in enumerate(lines, start=1):
        try:
            message = read_message(line)
        except ValueError as error:
            why = f"its message {place}, behind seq {last_seq}, is none ({_short_error(error)})"
            raise ContentDamaged(why, number, frame, last_seq) from error
        if message.seq <= last_seq:
            why = f"its message {place} has seq {message.seq} behind seq {last_seq}"
            raise ContentDamaged(why, number, frame, last_seq)
        last_seq = message.seq
        content.messages.append(message)
    return content


def prove(content: Content, frame: Frame, proof: Proof) -> None:
    """Hold a frame against its trailer, or the footer against everything before it.

    Raises:
        ContentDamaged: counts or hashes differ.
    """
    before = proof.last_seq
    if content.sealed:
        expected = proof.footer()
    else:
        last_seq = content.messages[-1].seq if content.messages else before
        expected = proof.add_frame(content.body, len(content.messages), last_seq)
    if content.said != expected:
        what = "the footer" if content.sealed else "its trailer"
        why = f"it does not have the hash and the counts that {what} names (behind seq {before})"
        raise ContentDamaged(why, content.number, frame, before)
    proof.add_trailer(content.trailer)


def _read_last_line(frame: Frame, content: Content, last_seq: int) -> str:
    """Read the last line into `content`; return its kind."""
    try:
        last = parse_object_line(content.trailer) if content.trailer.endswith(b"\n") else {}
    except ValueError:
        last = {}
    for kind in ("frame_end", "sealed"):
        fields = last.get(kind)
        if isinstance(fields, dict) and len(last) == 1:
            content.said = fields
            return kind
    raise ContentDamaged("it has no trailer", content.number, frame, last_seq)


def _short_error(error: Exception) -> str:
    return str(error)[:100]
