"""Frames of SPDY/3.1, as kubectl's tunnel needs them."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest

from twin.api.spdy import DICTIONARY, Data, Framer, Opened, Ping, Reset
from twin.errors import ApiError


def opened(stream: int, headers: dict[str, str], deflater: zlib._Compress, flags: int = 0) -> bytes:
    """Return a SYN_STREAM as a client writes it."""
    plain = struct.pack(">I", len(headers))
    for pair in headers.items():
        for text in pair:
            plain += struct.pack(">I", len(text)) + text.encode()
    block = deflater.compress(plain) + deflater.flush(zlib.Z_SYNC_FLUSH)
    payload = struct.pack(">IIH", stream, 0, 0) + block
    return struct.pack(">HHI", 0x8003, 1, flags << 24 | len(payload)) + payload


def test_the_dictionary_is_that_of_the_specification() -> None:
    """1,423 bytes; another one would make every header unreadable."""
    assert len(DICTIONARY) == 1_423
    digest = "51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02"
    assert hashlib.sha256(DICTIONARY).hexdigest() == digest


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_frames_are_read_however_they_are_cut(size: int) -> None:
    """Headers of later streams lean on those of earlier ones."""
    deflater = zlib.compressobj(zdict=DICTIONARY)
    first, second = {"streamtype": "error", "port": "80"}, {"streamtype": "data", "port": "80"}
    wire = opened(1, first, deflater, flags=1) + opened(3, second, deflater)
    wire += struct.pack(">II", 3, 5) + b"hello" + struct.pack(">II", 3, 1 << 24)
    wire += struct.pack(">HHII", 0x8003, 6, 4, 77) + struct.pack(">HHIII", 0x8003, 3, 8, 3, 5)
    framer, frames = Framer(), []
    for start in range(0, len(wire), size):
        frames += list(framer.read(wire[start : start + size]))
    assert frames == [
        Opened(1, first, True),
        Opened(3, second, False),
        Data(3, b"hello", False),
        Data(3, b"", True),
        Ping(77),
        Reset(3),
    ]


def test_what_is_written_can_be_read() -> None:
    """Data frames go both ways in one form."""
    framer = Framer()
    wire = framer.data(5, b"abc") + framer.data(5, b"", ends=True)
    assert list(Framer().read(wire)) == [Data(5, b"abc", False), Data(5, b"", True)]


@pytest.mark.parametrize(
    "wire",
    [
        struct.pack(">HHI", 0x8002, 1, 0),  # another version
        struct.pack(">II", 1, (1 << 24) - 1),  # too long
        struct.pack(">HHI", 0x8003, 1, 12) + bytes(12),  # headers that are not compressed
        struct.pack(">HHI", 0x8003, 6, 1) + b"x",  # a ping without a number
    ],
)
def test_what_is_no_spdy_is_refused(wire: bytes) -> None:
    """By one error, whatever it is."""
    with pytest.raises(ApiError):
        list(Framer().read(wire))
