"""Two recordings side by side: equal bytes, or the first line in which they differ."""

from __future__ import annotations

from pathlib import Path

import zstandard

SHOWN_CHARACTERS = 60


def first_difference(expected: Path, found: Path) -> str | None:
    """Return None when both files hold the same bytes; otherwise the first differing line."""
    if expected.read_bytes() == found.read_bytes():
        return None
    left, right = _lines(expected), _lines(found)
    for number, (one, another) in enumerate(zip(left, right, strict=False), start=1):
        if one != another:
            start = max(0, _first_byte(one, another) - SHOWN_CHARACTERS // 2)
            end = start + SHOWN_CHARACTERS
            return f"line {number}, byte {start}: {one[start:end]!r} != {another[start:end]!r}"
    if len(left) != len(right):
        return f"{len(left)} lines != {len(right)} lines"
    return "the same lines, compressed differently"


def _lines(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return reader.read().split(b"\n")


def _first_byte(one: bytes, another: bytes) -> int:
    pairs = enumerate(zip(one, another, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(another)))
