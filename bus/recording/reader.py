"""Reading a recording: every line proven against the hashes, whole frames of a damaged one still
readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bus.errors import InputError, RecordingDamaged
from bus.port import StoredMessage
from bus.recording.content import Content, parse_frame, prove
from bus.recording.format import FORMAT, READABLE, parse_object_line
from bus.recording.frames import read_frames
from bus.recording.proof import Proof, proof_of

BUFFER_BYTES = 256 * 1024
NOT_SEALED = "not sealed: the writer was cut off"


@dataclass(slots=True)
class Place:
    """How far a recording was read and proven."""

    proof: Proof
    frames: int = 0
    end: int = 0
    """Where the next frame begins, in bytes."""
    sealed: bool = False


class Recording:
    """One recording; iterate over it for its messages, as often as wanted."""

    def __init__(self, path: Path) -> None:
        """Open it and read its header.

        Raises:
            InputError: there is no such file, it is no recording, or its version is not known.
        """
        self.path = path
        self.header: dict[str, Any] = {}
        self._version = 0
        try:
            self.header = read_header(path)
            self._version = self.header["version"]
            next(self.contents(), None)
        except (OSError, RecordingDamaged) as error:
            raise InputError(
                "recording", path, f"give a recording that can be read ({_short_error(error)})"
            ) from error
        self.sealed = False
        """Whether the footer was seen; known after one whole iteration."""
        self.damage = ""
        """Why reading ended early; empty when it did not."""
        self.messages_read = 0
        self.last_seq_read = 0

    def __iter__(self) -> Iterator[StoredMessage]:
        """Yield messages in order.

        Reading ends at the last whole frame of a truncated or damaged recording; `damage` then says
        why.
        """
        for content in self.whole_frames():
            yield from content.messages

    def whole_frames(self) -> Iterator[Content]:
        """Yield the proven frames in order, one at a time in memory; `sealed` and `damage` as with
        messages.
        """
        self.sealed, self.damage = False, ""
        self.messages_read, self.last_seq_read = 0, 0
        sealed = False
        try:
            for content in self.contents():
                sealed = content.sealed
                if content.messages:
                    self.messages_read += len(content.messages)
                    self.last_seq_read = content.messages[-1].seq
                yield content
        except (OSError, RecordingDamaged) as error:
            self.damage = _short_error(error)
        else:
            self.sealed = sealed
            self.damage = "" if sealed else NOT_SEALED

    def beginning(self) -> Place:
        """Return the place before the first frame."""
        return Place(proof_of(self._version))

    def contents(self, place: Place | None = None) -> Iterator[Content]:
        """Yield frames, each only once it is proven; from the beginning, or from a `place` on, which goes along.

        Raises:
            OSError: the file cannot be read.
            RecordingDamaged: a frame is not what its trailer or the footer says.
        """
        place = place or self.beginning()
        with self.path.open("rb", buffering=BUFFER_BYTES) as file:
            file.seek(place.end)
            for frame in read_frames(file):
                if place.sealed:
                    raise RecordingDamaged(
                        f"something stands behind the footer (byte {frame.offset:,})"
                    )
                content = parse_frame(frame, place.frames + 1, place.proof.last_seq)
                prove(content, frame, place.proof)
                place.frames, place.end, place.sealed = place.frames + 1, frame.end, content.sealed
                yield content


def open_recording(path: Path) -> Recording:
    """Open a recording; see `Recording`."""
    return Recording(path)


def read_header(path: Path) -> dict[str, Any]:
    """Return a recording's header, not proven yet: another version may prove it in another way.

    Raises:
        InputError: it is no recording, or of a version that this code does not read.
        OSError, RecordingDamaged: it cannot be read.
    """
    with path.open("rb") as file:
        frame = next(read_frames(file), None)
    try:
        header = parse_object_line(frame.text.split(b"\n", 1)[0] if frame else b"{}")
    except ValueError as error:
        raise RecordingDamaged("its first line is no header") from error
    if header.get("format") != FORMAT:
        remedy = "give a file made by `foresail up --record` or `foresail recording`"
        raise InputError("recording", path, remedy)
    version = header.get("version")
    if isinstance(version, bool) or version not in READABLE:
        known = " and ".join(str(version) for version in READABLE)
        raise InputError(
            "recording",
            path,
            f"its format is version {version}; this Foresail reads {known}, use a newer one",
        )
    return header


def _short_error(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
