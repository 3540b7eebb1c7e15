"""First and last, exactly at the limit: what an off-by-one in a recording's code would change."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from bus.recording.content import ContentDamaged, parse_frame
from bus.recording.cut import cut_recording
from bus.recording.frames import Frame
from bus.recording.reader import NOT_SEALED
from bus.recording.window import Window, WindowUnit
from foresail.log_source import RecordingSource, Since
from tests.recordings.files import MESSAGES, frames_of, lines_of, whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a small recording."""
    path = tmp_path / "a.fslog"
    path.write_bytes(whole())
    return path


def test_a_position_is_written_once(tmp_path: Path) -> None:
    """A second message at the newest position is refused, as is an older one."""
    writer = RecordingWriter(tmp_path / "b.fslog", {"cluster": "c"})
    writer.write(MESSAGES[1])
    for one in (MESSAGES[1], MESSAGES[0]):
        with pytest.raises(ValueError, match="cannot be written behind seq 2"):
            writer.write(one)
    writer.close()


def test_a_writer_that_is_closed_keeps_its_last_message(tmp_path: Path) -> None:
    """Unsealed, with everything that was written."""
    writer = RecordingWriter(tmp_path / "b.fslog", {"cluster": "c"})
    for message in MESSAGES:
        writer.write(message)
    writer.close()
    recording = open_recording(tmp_path / "b.fslog")

    assert list(MESSAGES) == list(recording)
    assert NOT_SEALED == recording.damage


def test_every_frame_has_a_checksum_of_its_own() -> None:
    """The unpacker can tell a changed byte before any hash is looked at."""
    assert all(zstandard.get_frame_parameters(frame).has_checksum for frame in frames_of(whole()))


def test_nothing_is_read_behind_a_footer(path: Path) -> None:
    """The reader gives what the footer sealed, says what is wrong, and calls nothing sealed."""
    path.write_bytes(whole() + frames_of(whole())[-1])
    recording = open_recording(path)

    assert list(MESSAGES) == list(recording)
    assert "behind the footer" in recording.damage
    assert not recording.sealed


def test_a_line_that_stands_twice_is_damage() -> None:
    """Two messages of one position in a frame are refused, whatever its trailer says."""
    lines = lines_of(frames_of(whole())[2])
    text = b"".join([lines[0], *lines])

    with pytest.raises(ContentDamaged, match="behind seq"):
        parse_frame(Frame(0, len(text), text), 3, 0)


@pytest.mark.parametrize("by", [WindowUnit.SEQ, WindowUnit.TIME])
def test_a_window_holds_both_its_ends(by: WindowUnit) -> None:
    """The first and the last are meant; the next is not, and only behind the last it is past."""

    def value(message: StoredMessage) -> int:
        return message.seq if by is WindowUnit.SEQ else message.time_ns

    first, last, behind = MESSAGES[2], MESSAGES[4], MESSAGES[5]
    window = Window(by, value(first), value(last))

    assert [True, True, False] == [window.contains(one) for one in (first, last, behind)]
    assert not window.contains(MESSAGES[1])
    assert [False, False, True] == [window.is_past(one) for one in (first, last, behind)]


def test_a_part_ends_with_the_last_message_asked_for(path: Path, tmp_path: Path) -> None:
    """No line is lost at either end."""
    made = cut_recording(path, tmp_path / "part", Window(WindowUnit.SEQ, 3, 7))
    seqs = [message.seq for message in open_recording(tmp_path / "part")]

    assert [3, 7, 7] == [made.from_seq, made.last_seq, seqs[-1]]
    assert {3, 4, 5, 6, 7} <= set(seqs)


async def test_a_source_begins_at_the_position_asked_for(path: Path) -> None:
    """`start_seq` is the first position that is given."""
    source = RecordingSource(path)

    assert list(range(5, 16)) == [message.seq async for message in source.messages(start_seq=5)]


async def test_so_many_events_ago_is_so_many(path: Path) -> None:
    """`--since 3` begins at the third message from the end; `--since 1s` within the newest second."""
    source = RecordingSource(path)

    assert 13 == await source.start_of(Since(events=3))
    assert 13 == await source.start_of(Since(seconds=0.8))


def test_a_source_says_where_its_recording_is_cut_off(path: Path) -> None:
    """Once it was read to its end, and not for one that is whole."""
    source = RecordingSource(path)

    async def damage() -> str:
        async for _ in source.messages():
            pass
        return source.damage

    assert "" == asyncio.run(damage())
    path.write_bytes(b"".join(frames_of(whole())[:-1]))
    expected = f"{NOT_SEALED}; 15 messages were read, up to seq 15"
    assert expected == asyncio.run(damage())


def test_a_message_is_kept_as_it_is(tmp_path: Path) -> None:
    """Position, nanoseconds, subject, headers and bytes come back as they were written."""
    odd = replace(MESSAGES[0], seq=10**15, time_ns=1_767_225_600_999_999_999, headers={"ä": "\n"})
    writer = RecordingWriter(tmp_path / "b.fslog", {"cluster": "c"})
    writer.write(odd)
    writer.seal()

    assert [odd] == list(open_recording(tmp_path / "b.fslog"))
