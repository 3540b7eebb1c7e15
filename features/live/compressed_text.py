"""Compressed text in a checkpoint, unpacked up to a size: a message of 1 MiB could hold a gigabyte."""

from __future__ import annotations

import base64
import zlib
from typing import Final

MOST_BYTES: Final = 64 * 1024**2
"""Bytes of one packed state; the history of 5,000 busy nodes has about ten million."""


def inflate(text: str) -> bytes:
    """Return what `zlib.compress` and base64 made a text of.

    Raises:
        ValueError: it is no such text, or unpacks to more than `MOST_BYTES`.
    """
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(base64.b64decode(text, validate=True), MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if not unpacker.eof:
        raise ValueError(f"it is cut off, or unpacks to more than {MOST_BYTES} bytes")
    return content
