"""Recordings give back every byte, prove their content, and say what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bus.errors import InputError
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from bus.recording.format import message_line, read_message, rfc3339_nanoseconds
from schemas.registry import to_json


def make_message(seq: int, data: bytes = b'{"a":1.0}', time_ns: int | None = None) -> StoredMessage:
    """Return a message."""
    when = seq * 10_000_000 if time_ns is None else time_ns
    return StoredMessage(seq, when, "foresail.c.decision", {"ce-id": str(seq)}, data)


def record(path: Path, messages: list[StoredMessage], *, seal: bool = True) -> None:
    """Write a recording."""
    writer = RecordingWriter(path, {"cluster": "c"})
    for message in messages:
        writer.write(message)
    writer.seal() if seal else writer.close()


@given(
    st.binary(max_size=80)
    | st.recursive(
        st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text('aé€😀"\\'), st.lists
    ).map(to_json)
)
def test_a_line_gives_back_every_byte(data: bytes) -> None:
    """Whatever a message holds, JSON of ours or not, its bytes come back unchanged."""
    message = make_message(7, data, 1_767_225_600_123_456_789)

    assert message == read_message(message_line(message)[:-1])


def test_a_sealed_recording_holds_every_message(tmp_path: Path) -> None:
    """What was written is read, the header first, and the recording says that it is whole."""
    messages = [make_message(seq) for seq in range(1, 500)]
    record(tmp_path / "a.fslog", messages)
    recording = open_recording(tmp_path / "a.fslog")

    assert "c" == recording.header["cluster"]
    assert messages == list(recording)
    assert recording.sealed
    assert "" == recording.damage


def test_equal_logs_are_equal_files(tmp_path: Path) -> None:
    """A recording depends on the messages alone, not on when it was written."""
    messages = [make_message(seq) for seq in range(1, 200)]
    record(tmp_path / "a", messages)
    record(tmp_path / "b", messages)

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_cut_off_recording_keeps_its_whole_frames(tmp_path: Path) -> None:
    """A writer that was killed loses its open frame, and the reader says so."""
    record(tmp_path / "a", [make_message(seq) for seq in range(1, 500)])
    whole = (tmp_path / "a").read_bytes()
    (tmp_path / "a").write_bytes(whole[: len(whole) // 2])
    recording = open_recording(tmp_path / "a")
    actual = list(recording)

    assert 0 < len(actual) < 499
    assert [message.seq for message in actual] == list(range(1, len(actual) + 1))
    assert "cut off" in recording.damage


def test_a_recording_without_its_end_says_so(tmp_path: Path) -> None:
    """A recording that was never sealed is readable and called what it is."""
    record(tmp_path / "a", [make_message(1)], seal=False)
    recording = open_recording(tmp_path / "a")

    assert 1 == len(list(recording))
    assert "not sealed" in recording.damage


def test_a_changed_line_is_noticed(tmp_path: Path) -> None:
    """A frame whose content was changed and packed again does not pass its own hash."""
    record(tmp_path / "a", [make_message(1)], seal=False)
    frames = b""
    decoder = zstandard.ZstdDecompressor()
    raw = (tmp_path / "a").read_bytes()
    while raw:
        unpacker = decoder.decompressobj()
        text = unpacker.decompress(raw)
        raw = unpacker.unused_data
        frames += zstandard.ZstdCompressor(write_checksum=True).compress(
            text.replace(b'"a":1.0', b'"a":2.0')
        )
    (tmp_path / "a").write_bytes(frames)
    recording = open_recording(tmp_path / "a")

    assert [] == list(recording)
    assert "hash" in recording.damage


@pytest.mark.parametrize(
    "content", [b"", b"plain text", zstandard.compress(b'{"format":"other"}\n')]
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, content: bytes) -> None:
    """One line names the file and the remedy."""
    (tmp_path / "a").write_bytes(content)

    with pytest.raises(InputError, match="recording = "):
        open_recording(tmp_path / "a")


def test_a_newer_format_names_what_can_read_it(tmp_path: Path) -> None:
    """A recording of an unknown version is refused with both versions."""
    (tmp_path / "a").write_bytes(
        zstandard.compress(b'{"format":"foresail-recording","version":9}\n')
    )

    with pytest.raises(InputError, match="version 9; this Foresail reads 1"):
        open_recording(tmp_path / "a")


def test_a_recording_is_never_overwritten(tmp_path: Path) -> None:
    """An existing file is left alone."""
    (tmp_path / "a").write_bytes(b"precious")

    with pytest.raises(InputError, match="never overwritten"):
        RecordingWriter(tmp_path / "a", {})
    assert b"precious" == (tmp_path / "a").read_bytes()


def test_recorded_time_keeps_nanoseconds() -> None:
    """Time stamps are written in full."""
    assert "2026-01-01T00:00:00.000000001Z" == rfc3339_nanoseconds(1_767_225_600_000_000_001)
