"""Small recordings, taken apart into frames and put together again, for tests that damage them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard

from bus.port import StoredMessage
from bus.recording import RecordingWriter
from bus.recording.format import footer_line, trailer_line
from bus.recording.proof import RunningProof

MESSAGES = tuple(
    StoredMessage(
        seq,
        1_767_225_600_000_000_000 + seq * 400_000_000,
        "foresail.c.decision",
        {"ce-id": str(seq)},
        b'{"a":1.5}' if seq % 4 else b"\xff raw",
    )
    for seq in range(1, 16)
)
"""Two or three of them go into one frame."""


def sealed_recording(messages: Sequence[StoredMessage]) -> bytes:
    """Return a sealed recording."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.fslog"
        writer = RecordingWriter(path, {"cluster": "c"})
        for message in messages:
            writer.write(message)
        writer.seal()
        return path.read_bytes()


@cache
def whole() -> bytes:
    """Return a recording of `MESSAGES`: a frame with the header, six with messages, a footer."""
    return sealed_recording(MESSAGES)


def version_1() -> list[bytes]:
    """Return the frames of the same recording as version 1 wrote it."""
    frames, proof = [], RunningProof()
    for number, frame in enumerate(frames_of(whole())):
        body = b"".join(lines_of(frame)[:-1]).replace(b'"version":2', b'"version":1')
        if not body:
            frames.append(pack_frame([footer_line(proof.footer())]))
            continue
        seqs = seqs_by_frame()[number]
        trailer = proof.add_frame(body, len(seqs), max(seqs, default=0))
        frames.append(pack_frame([body, trailer_line(trailer)]))
        proof.add_trailer(trailer_line(trailer))
    return frames


def frames_of(content: bytes) -> list[bytes]:
    """Return the packed frames."""
    found = []
    while content:
        unpacker = zstandard.ZstdDecompressor().decompressobj()
        unpacker.decompress(content)
        rest = unpacker.unused_data
        found.append(content[: len(content) - len(rest)])
        content = rest
    return found


def lines_of(frame: bytes) -> list[bytes]:
    """Return a packed frame's lines with their line ends."""
    return zstandard.ZstdDecompressor().decompress(frame).splitlines(keepends=True)


def pack_frame(lines: Sequence[bytes]) -> bytes:
    """Return lines as a frame with a good checksum."""
    return zstandard.ZstdCompressor(level=6, write_checksum=True).compress(b"".join(lines))


def seqs_by_frame() -> list[list[int]]:
    """Return which messages stand in which frame of `whole`."""
    return [
        [seq for seq in range(1, 16) if b'{"seq":%d,' % seq in b"".join(lines_of(frame))]
        for frame in frames_of(whole())
    ]
