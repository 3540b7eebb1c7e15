"""Reading a recording: every line proven against the hashes, whole frames of a damaged one still
readable.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zstandard

from bus.errors import InputError, RecordingDamaged
from bus.port import StoredMessage
from bus.recording.format import FORMAT, VERSION, read_message

CHUNK_BYTES = 256 * 1024
PIECE_BYTES = 2 * 1024
"""Unpacked at once: 2 KiB can stand for 64 MiB at most, so that a forged frame fills no memory."""
LARGEST_FRAME_BYTES = 16 * 1024**2
"""Frames are closed at 1 MiB; a last message of 1 MiB may come on top, as base64."""


class Recording:
    """One recording; iterate over it for its messages, as often as wanted."""

    def __init__(self, path: Path) -> None:
        """Open it and read its header.

        Raises:
            InputError: there is no such file, it is no recording, or its version is not known.
        """
        self._path = path
        remedy = "give a file made by `foresail up --record` or `foresail recording`"
        try:
            # The version is believed unproven: another one may prove its content in another way.
            first = _object(next(self._frames(), b"{}").split(b"\n", 1)[0], 1)
            if first.get("format") != FORMAT:
                raise InputError("recording", path, remedy)
            version = first.get("version")
            if version != VERSION or isinstance(version, bool):
                raise InputError(
                    "recording",
                    path,
                    f"its format is version {version}; this Foresail reads {VERSION}, use a newer one",
                )
            next(self._lines(), None)
        except (OSError, RecordingDamaged) as error:
            raise InputError(
                "recording", path, f"give a recording that can be read ({_short(error)})"
            ) from error
        self.header: dict[str, Any] = first
        self.sealed = False
        """Whether the footer was seen; known after one whole iteration."""
        self.damage = ""
        """Why reading ended early; empty when it did not."""

    def __iter__(self) -> Iterator[StoredMessage]:
        """Yield messages in order.

        Reading ends at the last whole frame of a truncated or damaged recording; `damage` then says
        why.
        """
        self.sealed, self.damage = False, ""
        sealed = False
        try:
            for number, line in enumerate(self._lines()):
                if "sealed" in line:
                    sealed = True
                elif number > 0:
                    yield _message(line)
        except RecordingDamaged as error:
            self.damage = str(error)
        else:
            self.sealed = sealed
            self.damage = "" if sealed else "not sealed: the writer was cut off"

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield decoded lines without trailers, each frame only once it is proven.

        Raises:
            RecordingDamaged: a frame is not what its trailer or the footer says.
        """
        digest = hashlib.sha256()
        messages = last_seq = 0
        sealed = False
        for number, frame in enumerate(self._frames(), start=1):
            if sealed:
                raise RecordingDamaged("something stands behind the footer")
            decoded: list[dict[str, Any]] = []
            proven = False
            for raw in frame.splitlines(keepends=True):
                line = _object(raw, number)
                sealed = "sealed" in line
                if proven or (sealed and decoded):
                    raise RecordingDamaged(f"something stands behind the trailer of frame {number}")
                if sealed or "frame_end" in line:
                    proven = True
                    proof = line["sealed"] if sealed else line["frame_end"]
                    said = {
                        "messages": messages,
                        "last_seq": last_seq,
                        "sha256": digest.hexdigest(),
                    }
                    if proof != said:
                        raise RecordingDamaged(
                            f"frame {number} does not have the hash and the counts it names"
                        )
                elif number > 1 or decoded:
                    messages, last_seq = messages + 1, _next_seq(line, last_seq, number)
                digest.update(raw)
                if "frame_end" not in line:
                    decoded.append(line)
            if not proven:
                raise RecordingDamaged(f"frame {number} has no trailer")
            yield from decoded

    def _frames(self) -> Iterator[bytes]:
        """Yield uncompressed frames.

        Raises:
            RecordingDamaged: a frame is cut off or its checksum is wrong.
        """
        with self._path.open("rb") as file:
            rest = b""
            while True:
                rest = rest or file.read(CHUNK_BYTES)
                if not rest:
                    return
                decoder = zstandard.ZstdDecompressor().decompressobj()
                parts: list[bytes] = []
                size = 0
                try:
                    while not decoder.eof:
                        rest = rest or file.read(CHUNK_BYTES)
                        if not rest:
                            raise RecordingDamaged("the last frame is cut off")
                        parts.append(decoder.decompress(rest[:PIECE_BYTES]))
                        rest = rest[PIECE_BYTES:]
                        size += len(parts[-1])
                        if size > LARGEST_FRAME_BYTES:
                            raise RecordingDamaged(
                                f"a frame unpacks to more than {LARGEST_FRAME_BYTES} bytes"
                            )
                except zstandard.ZstdError as error:
                    raise RecordingDamaged(f"a frame cannot be unpacked ({error})") from error
                rest = decoder.unused_data + rest
                yield b"".join(parts)


def open_recording(path: Path) -> Recording:
    """Open a recording; see `Recording`."""
    return Recording(path)


def _object(raw: bytes, frame: int) -> dict[str, Any]:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RecordingDamaged(f"a line of frame {frame} is no JSON") from error
    if not isinstance(line, dict):
        raise RecordingDamaged(f"a line of frame {frame} is no JSON object")
    return line


def _next_seq(line: dict[str, Any], last_seq: int, frame: int) -> int:
    """Return a message's position, which lies behind the one before it."""
    seq = line.get("seq")
    if not isinstance(seq, int) or isinstance(seq, bool) or seq <= last_seq:
        raise RecordingDamaged(f"frame {frame} holds position {seq!r} after {last_seq}")
    return seq


def _message(line: dict[str, Any]) -> StoredMessage:
    try:
        return read_message(line)
    except (KeyError, TypeError, ValueError) as error:
        raise RecordingDamaged(f"position {line.get('seq')} is no message ({error!r})") from error


def _short(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
