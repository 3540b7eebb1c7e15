"""What a sealed recording's footer states, read from the file's end alone: for progress and for finding where to go
on, never as proof.
"""

from __future__ import annotations

from pathlib import Path

import zstandard

from bus.recording.format import parse_object_line
from bus.recording.frames import MAGIC

TAIL_BYTES = 4_096
"""A footer is a frame of a few hundred bytes at the end of the file."""
MOST_FOOTER_BYTES = 65_536


def stated_messages(path: Path) -> int | None:
    """Return the number of messages that the footer states; None where there is no footer."""
    return _stated(path, "messages")


def stated_last_seq(path: Path) -> int | None:
    """Return the position of the last message that the footer states; None where there is no footer."""
    return _stated(path, "last_seq")


def _stated(path: Path, name: str) -> int | None:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            tail = file.read()
        frame = tail[tail.rindex(MAGIC) :]
        with zstandard.ZstdDecompressor().stream_reader(
            frame
        ) as reader:  # bounded, whatever it claims
            text = reader.read(MOST_FOOTER_BYTES)
        count = parse_object_line(text.splitlines()[-1])["sealed"][name]
    except (OSError, ValueError, KeyError, TypeError, IndexError, zstandard.ZstdError):
        return None
    return count if type(count) is int and count > 0 else None
