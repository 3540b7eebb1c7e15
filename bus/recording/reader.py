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


class Recording:
    """One recording; iterate over it for its messages, as often as wanted."""

    def __init__(self, path: Path) -> None:
        """Open it and read its header.

        Raises:
            InputError: there is no such file, it is no recording, or its version is not known.
        """
        self._path = path
        lines = self._lines()
        try:
            first = next(lines)
        except StopIteration:
            first = {}
        except (OSError, RecordingDamaged) as error:
            raise InputError(
                "recording", path, f"give a recording that can be read ({_short(error)})"
            ) from error
        if first.get("format") != FORMAT:
            raise InputError(
                "recording",
                path,
                "give a file made by `foresail up --record` or `foresail recording`",
            )
        if first["version"] != VERSION:
            raise InputError(
                "recording",
                path,
                f"its format is version {first['version']}; this Foresail reads {VERSION}, use a newer one",
            )
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
        try:
            for line in self._lines():
                if "sealed" in line:
                    self.sealed = True
                elif "seq" in line:
                    yield read_message(line)
        except RecordingDamaged as error:
            self.damage = str(error)
        else:
            if not self.sealed:
                self.damage = "not sealed: the writer was cut off"

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Yield decoded lines without trailers, each frame only once it is proven."""
        digest = hashlib.sha256()
        for number, frame in enumerate(self._frames(), start=1):
            decoded: list[dict[str, Any]] = []
            for raw in frame.splitlines(keepends=True):
                line = json.loads(raw)
                proof = line.get("frame_end") or line.get("sealed")
                if proof is not None and proof["sha256"] != digest.hexdigest():
                    raise RecordingDamaged(f"frame {number} does not have the hash it names")
                digest.update(raw)
                if "frame_end" not in line:
                    decoded.append(line)
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
                parts = []
                try:
                    while True:
                        parts.append(decoder.decompress(rest))
                        if decoder.eof:
                            break
                        rest = file.read(CHUNK_BYTES)
                        if not rest:
                            raise RecordingDamaged("the last frame is cut off")
                except zstandard.ZstdError as error:
                    raise RecordingDamaged(f"a frame cannot be unpacked ({error})") from error
                rest = decoder.unused_data
                yield b"".join(parts)


def open_recording(path: Path) -> Recording:
    """Open a recording; see `Recording`."""
    return Recording(path)


def _short(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
