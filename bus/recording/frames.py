"""Frames in a file: where each begins and ends, found without unpacking, and what is in it.

A frame of zstd says the length of each of its blocks, so its end is found by walking over them, and
it can be unpacked in one step into as much memory as it says it needs. A forged size fills no
memory: blocks hold 128 KiB at most, frames 16 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from bus.errors import RecordingDamaged

LARGEST_FRAME_BYTES = 16 * 1024**2
"""Frames are closed at 1 MiB; a last message of 1 MiB may come on top, as base64."""
MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK_BYTES = 128 * 1024
"""The most that one block of zstd unpacks to."""
SEARCH_BYTES = 256 * 1024
CUT_OFF = "a frame has no end: the file is cut off, or damaged there"
MOST_BLOCKS = 4_096
"""A frame of ours has 129 at most; a forged one of empty blocks could have millions."""
_SIZE_BYTES = (0, 2, 4, 8)
_ID_BYTES = (0, 1, 2, 4)
_CHECKSUM = 4
_REPEATED, _RESERVED = 1, 3
"""Kinds of blocks: one byte many times, and the kind that does not exist."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame, unpacked."""

    offset: int
    """Where it begins in the file, in bytes."""
    end: int
    """Where the next one begins."""
    text: bytes
    """Its lines."""


class FrameDamaged(RecordingDamaged):
    """A frame is cut off or cannot be unpacked."""

    def __init__(self, why: str, offset: int) -> None:
        """Say why, and where the frame begins."""
        super().__init__(f"{why} (byte {offset:,})")
        self.why = why
        self.offset = offset


def read_frames(file: BinaryIO) -> Iterator[Frame]:
    """Yield every frame from the file's current place to its end.

    Raises:
        FrameDamaged: a frame is cut off or its checksum is wrong.
    """
    unpacker = zstandard.ZstdDecompressor()
    while (frame := _next_frame(file, unpacker)) is not None:
        yield frame


def next_whole_frame(file: BinaryIO, offset: int) -> int | None:
    """Return where the next frame begins, at `offset` or behind it, that is whole by its own
    checksum; None when there is none.
    """
    unpacker = zstandard.ZstdDecompressor()
    for place in _magic_places(file, offset):
        file.seek(place)
        try:
            if _next_frame(file, unpacker) is not None:
                return place
        except FrameDamaged:
            continue
    return None


def _magic_places(file: BinaryIO, offset: int) -> Iterator[int]:
    """Yield every place that looks like the beginning of a frame."""
    while True:
        file.seek(offset)
        chunk = file.read(SEARCH_BYTES)
        at = chunk.find(MAGIC)
        while at >= 0:
            yield offset + at
            at = chunk.find(MAGIC, at + 1)
        if len(chunk) < SEARCH_BYTES:
            return
        offset += len(chunk) - len(MAGIC) + 1


def _next_frame(file: BinaryIO, unpacker: zstandard.ZstdDecompressor) -> Frame | None:
    """Return the frame at the file's current place; None at the file's end."""
    offset = file.tell()
    packed, most_bytes = _read_packed_frame(file, offset)
    if not packed:
        return None
    try:
        size = zstandard.frame_content_size(packed)
        if max(size, 0) > LARGEST_FRAME_BYTES:
            raise FrameDamaged(f"a frame unpacks to more than {LARGEST_FRAME_BYTES} bytes", offset)
        text = unpacker.decompress(packed, max_output_size=max(most_bytes, 1))
    except zstandard.ZstdError as error:
        raise FrameDamaged(f"a frame cannot be unpacked ({error})", offset) from error
    return Frame(offset, offset + len(packed), text)


def _read_packed_frame(file: BinaryIO, offset: int) -> tuple[bytes, int]:
    """Read one frame as it stands in the file; return it and the most that it can unpack to."""
    start = file.read(len(MAGIC) + 1)
    if not start:
        return b"", 0
    if not start.startswith(MAGIC[: len(start)]):
        raise FrameDamaged("no frame begins where one should", offset)
    if len(start) <= len(MAGIC):
        raise FrameDamaged(CUT_OFF, offset)
    descriptor = start[-1]
    whole = bool(descriptor & 0x20)
    size_bytes = _SIZE_BYTES[descriptor >> 6] or int(whole)
    parts = [
        start,
        _read_exactly(file, int(not whole) + _ID_BYTES[descriptor & 3] + size_bytes, offset),
    ]
    blocks, packed_bytes, last = 0, 0, False
    while not last:
        head = _read_exactly(file, 3, offset)
        field = int.from_bytes(head, "little")
        last, kind, size = bool(field & 1), field >> 1 & 3, field >> 3
        if kind == _RESERVED or size > BLOCK_BYTES:
            raise FrameDamaged("a frame cannot be unpacked (a block of no known form)", offset)
        parts += [head, _read_exactly(file, 1 if kind == _REPEATED else size, offset)]
        blocks, packed_bytes = blocks + 1, packed_bytes + len(parts[-1])
        if packed_bytes > LARGEST_FRAME_BYTES or blocks > MOST_BLOCKS:
            raise FrameDamaged(f"a frame is longer than {LARGEST_FRAME_BYTES} bytes", offset)
    if descriptor & _CHECKSUM:
        parts.append(_read_exactly(file, 4, offset))
    return b"".join(parts), min(blocks * BLOCK_BYTES, LARGEST_FRAME_BYTES)


def _read_exactly(file: BinaryIO, size: int, offset: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise FrameDamaged(CUT_OFF, offset)
    return data
