"""Recordings: whatever happened to the file, what is read was written, and the damage is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bus.errors import InputError
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from tests.fuzz.mutation import FUZZ, broken_encodings, dump_json, mutated_bytes, mutations
from tests.recordings.files import frames_of, lines_of, pack_frame

MESSAGES = tuple(
    StoredMessage(
        seq,
        1_767_225_600_000_000_000 + seq * 400_000_000,
        "foresail.c.decision",
        {"ce-id": str(seq)},
        b'{"a":1.5}' if seq % 3 else b"\xff raw",
    )
    for seq in range(1, 9)
)


@cache
def whole() -> bytes:
    """Return a sealed recording of a few frames."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.fslog"
        writer = RecordingWriter(path, {"cluster": "c"})
        for message in MESSAGES:
            writer.write(message)
        writer.seal()
        return path.read_bytes()


def lines() -> list[bytes]:
    """Return the uncompressed lines of the whole recording."""
    reader = zstandard.ZstdDecompressor().stream_reader(whole(), read_across_frames=True)
    return reader.read().splitlines(keepends=True)


def read(content: bytes) -> tuple[Sequence[StoredMessage], bool, str] | None:
    """Return (messages, sealed, damage) of a file; None when it is refused as no recording."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.fslog"
        path.write_bytes(content)
        try:
            recording = open_recording(path)
        except InputError:
            return None
        messages = list(recording)
        return messages, recording.sealed, recording.damage


def judge_reading(content: bytes) -> None:
    """Check that what is read is a beginning of what was written, and that a cut is named."""
    found = read(content)
    if found is None:
        return
    messages, sealed, damage = found
    assert MESSAGES[: len(messages)] == tuple(messages)
    assert sealed != bool(damage)
    if sealed:
        assert len(messages) == len(MESSAGES)


def test_a_recording_cut_anywhere_is_read_up_to_there() -> None:
    """At every byte: whole frames are given back, the cut is named, and nothing crashes."""
    assert read(whole()) == (list(MESSAGES), True, "")
    for end in range(len(whole())):
        judge_reading(whole()[:end])


def test_a_flipped_bit_is_noticed() -> None:
    """At every byte: the frame with the flipped bit is not believed."""
    for at in range(len(whole())):
        judge_reading(whole()[:at] + bytes([whole()[at] ^ (1 << at % 8)]) + whole()[at + 1 :])


@FUZZ
@given(mutated_bytes(whole()))
def test_a_damaged_file_is_never_believed(content: bytes) -> None:
    """Bytes flipped, cut out, put in or doubled lose messages at the end, and that is said."""
    judge_reading(content)


@FUZZ
@given(st.data())
def test_forged_lines_crash_nothing(data: st.DataObject) -> None:
    """Lines of any form in a well-formed frame are refused or named as damage."""
    forged = lines()
    at = data.draw(st.integers(0, len(forged) - 1))
    changed = data.draw(broken_encodings(json.loads(forged[at])))
    frame = zstandard.ZstdCompressor(write_checksum=True)
    before = b"".join(forged[:at])
    after = b"".join(forged[at + 1 :])

    read(frame.compress(before + changed + b"\n" + after))
    read(frame.compress(changed + b"\n"))


@FUZZ
@given(st.data())
def test_wrong_counts_are_noticed(data: st.DataObject) -> None:
    """A trailer or footer whose counts do not fit what stands before it is not believed."""
    frames = [lines_of(frame) for frame in frames_of(whole())]
    at = data.draw(st.integers(0, len(frames) - 1))
    content = json.loads(frames[at][-1])
    changed = data.draw(mutations(content))
    frames[at][-1] = dump_json(changed) + b"\n"
    found = read(b"".join(pack_frame(lines) for lines in frames))

    if changed != content and found is not None:
        assert found[2]
