"""A checkpoint's state as it is stored: as it is, or packed where it is large, so that it fits a message.

At 5,000 nodes states have up to 1.5 MB as JSON and a tenth of that packed; a message holds 1 MB.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

from inputs.limited_json import load_json
from schemas.registry import to_json

PACKED = "packed"
"""The only field of a state that is packed: base64 of zlib of its JSON."""
LARGE_BYTES = 128 * 1024
"""States below are stored as they are, so that a person can read them."""
MOST_BYTES = 64 * 1024 * 1024
"""Unpacked. No state comes near; a forged one fills no memory."""


def stored_state(state: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """Return a state as it is stored, and the bytes that it takes."""
    text = to_json(state)
    if len(text) < LARGE_BYTES:
        return state, len(text)
    packed = base64.b64encode(zlib.compress(text, level=1)).decode()
    return {PACKED: packed}, len(packed)


def read_state(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a state from what is stored.

    Raises:
        ValueError: it is packed, and cannot be unpacked.
    """
    if stored.keys() != {PACKED}:
        return stored
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(base64.b64decode(str(stored[PACKED]), validate=True), MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"the packed state is damaged: {error}") from error
    if not unpacker.eof:
        raise ValueError("the packed state is cut off, or larger than any state is")
    state = load_json(text)
    if not isinstance(state, dict):
        raise ValueError("the packed state is no object")
    return state
