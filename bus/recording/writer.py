"""Writing a recording, frame by frame; what is written stays readable if the writer dies."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import zstandard

from bus.errors import InputError
from bus.port import StoredMessage
from bus.recording.format import (
    MAX_FRAME_BYTES,
    MAX_FRAME_NS,
    footer_line,
    header_line,
    message_line,
    trailer_line,
)
from bus.recording.proof import ChainProof
from bus.recording.usable import usable_part

COMPRESSION_LEVEL = 6
OTHER_NAME = "give a new file name; recordings are never overwritten"
PARTIAL = ".partial"
"""Ending of a file that is not finished."""


class RecordingWriter:
    """Appends messages to one file; `seal` ends it."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        """Create the file with its header.

        Raises:
            InputError: it exists, or cannot be made.
        """
        try:
            file = path.open("xb")
        except FileExistsError as error:
            raise InputError("recording", path, OTHER_NAME) from error
        except OSError as error:
            raise InputError(
                "recording", path, f"give a file that can be written ({error.strerror})"
            ) from error
        self._begin(file, ChainProof())
        self._add(header_line(header))
        self.flush()

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """Go on in a file whose writer was killed: what stands behind its last whole frame is cut off.

        Raises:
            RecordingDamaged: not even its header is whole, or it is sealed or of an older version.
            OSError: it cannot be read or written.
        """
        usable = usable_part(path)
        file = path.open("r+b")
        file.truncate(usable.end)
        file.seek(usable.end)
        writer = cls.__new__(cls)
        writer._begin(file, usable.proof)  # noqa: SLF001 - its own
        return writer

    def _begin(self, file: BinaryIO, proof: ChainProof) -> None:
        self._file = file
        self._compressor = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True)
        self._proof = proof
        self._frame: list[bytes] = []
        self._frame_bytes = 0
        self._frame_began_ns: int | None = None
        self._messages = 0
        self._last_seq = proof.last_seq
        self._sealed = False

    @property
    def last_seq(self) -> int:
        """Position of the newest message written; 0 before the first."""
        return self._last_seq

    def write(self, message: StoredMessage, line: bytes | None = None) -> None:
        """Append one message; a frame that is a second or a mebibyte long is closed first.

        Args:
            message: behind every message written before.
            line: the line of another recording that it was read from, to be kept as it is.

        Raises:
            ValueError: its position is not behind the last one.
        """
        if message.seq <= self._last_seq:
            raise ValueError(f"seq {message.seq} cannot be written behind seq {self._last_seq}")
        began = self._frame_began_ns
        if began is not None and (
            message.time_ns - began >= MAX_FRAME_NS or self._frame_bytes >= MAX_FRAME_BYTES
        ):
            self.flush()
        if self._frame_began_ns is None:
            self._frame_began_ns = message.time_ns
        self._add(message_line(message) if line is None else line + b"\n")
        self._messages += 1
        self._last_seq = message.seq

    def flush(self) -> None:
        """Close the open frame and hand it to the operating system."""
        if not self._frame:
            return
        body = b"".join(self._frame)
        trailer = self._proof.add_frame(body, self._messages, self._last_seq)
        self._messages = 0
        self._write_frame(body + trailer_line(trailer))

    def seal(self) -> None:
        """Close the recording for good; doing it twice is doing it once."""
        if self._sealed:
            return
        self.flush()
        self._write_frame(footer_line(self._proof.footer()))
        os.fsync(self._file.fileno())
        self._file.close()
        self._sealed = True

    def close(self) -> None:
        """Keep what was written without sealing it: the log goes on elsewhere."""
        if not self._file.closed:
            self.flush()
            self._file.close()

    def abandon(self) -> None:
        """Let the file go as it is, after a write that failed; `reopen` goes on behind its last whole frame."""
        with suppress(OSError):  # closing tries once more to write what could not be written
            self._file.close()

    def _add(self, line: bytes) -> None:
        self._frame.append(line)
        self._frame_bytes += len(line)

    def _write_frame(self, text: bytes) -> None:
        self._file.write(self._compressor.compress(text))
        self._file.flush()
        self._frame.clear()
        self._frame_bytes = 0
        self._frame_began_ns = None


@contextmanager
def writing_recording(path: Path, header: Mapping[str, Any]) -> Iterator[RecordingWriter]:
    """Write a recording that is there whole and sealed, or not at all.

    Raises:
        InputError: the file exists, or cannot be made.
    """
    if path.exists():
        raise InputError("recording", path, OTHER_NAME)
    partial = path.with_name(path.name + PARTIAL)
    partial.unlink(missing_ok=True)
    writer = RecordingWriter(partial, header)
    try:
        yield writer
        writer.seal()
        partial.rename(path)
    finally:
        writer.close()
        partial.unlink(missing_ok=True)
