"""Two recordings side by side: equal bytes, or the first line in which they differ."""

from __future__ import annotations

from pathlib import Path

import zstandard

SHOWN_CHARACTERS = 60


def first_difference(expected: Path, actual: Path) -> str | None:
    """Return None when both files hold the same bytes; otherwise the first differing line."""
    if expected.read_bytes() == actual.read_bytes():
        return None
    left, right = _lines(expected), _lines(actual)
    for number, (line, another) in enumerate(zip(left, right, strict=False), start=1):
        if line != another:
            start = max(0, _first_byte(line, another) - SHOWN_CHARACTERS // 2)
            end = start + SHOWN_CHARACTERS
            return f"line {number}, byte {start}: {line[start:end]!r} != {another[start:end]!r}"
    if len(left) != len(right):
        return f"{len(left)} lines != {len(right)} lines"
    return "the same lines, compressed differently"


def _lines(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        reader = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return reader.read().split(b"\n")


def _first_byte(line: bytes, another: bytes) -> int:
    pairs = enumerate(zip(line, another, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(line), len(another)))
