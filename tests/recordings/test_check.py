"""`check`: whatever happened to a file, the damaged place is named and everything else is usable."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bus.port import StoredMessage
from bus.recording import open_recording
from bus.recording.check import FileCheck, FileWalk
from tests.recordings.files import (
    MESSAGES,
    frames_of,
    lines_of,
    pack_frame,
    sealed_recording,
    seqs_by_frame,
    version_1,
    whole,
)

SOME = settings(max_examples=60, deadline=None, derandomize=True, database=None)
FRAMES = frames_of(whole())
SEQS = seqs_by_frame()
WITH_MESSAGES = [number for number, seqs in enumerate(SEQS) if len(seqs) > 1]


def check_content(content: bytes) -> tuple[FileCheck, list[StoredMessage]]:
    """Return what `check` finds in a file of these bytes, and the messages it calls usable."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.fslog"
        path.write_bytes(content)
        walk = FileWalk(path)
        messages = [message for frame in walk.usable_frames() for message in frame.messages]
        return walk.found, messages


def all_but(*frames: int) -> list[StoredMessage]:
    """Return the messages that stand in no frame of these indices."""
    seqs = {seq for number in frames for seq in SEQS[number]}
    return [message for message in MESSAGES if message.seq not in seqs]


def stretches(found: FileCheck) -> list[tuple[int, int]]:
    """Return the usable positions."""
    return [(stretch.first_seq, stretch.last_seq) for stretch in found.stretches]


def test_a_whole_file_is_called_whole() -> None:
    """Nothing is found where nothing is wrong, and one stretch holds everything."""
    actual, messages = check_content(whole())

    assert actual.whole
    assert list(MESSAGES) == messages
    assert [(1, 15)] == stretches(actual)


@SOME
@example(at=len(b"".join(FRAMES[:-2])), by=1)  # the first byte of the last frame with messages
@given(st.integers(0, len(whole()) - 1), st.integers(1, 255))
def test_a_changed_byte_costs_its_frame_alone(at: int, by: int) -> None:
    """The frame is named by number, byte and position before it; every other frame is usable."""
    content = bytearray(whole())
    content[at] ^= by
    number = next(n for n in range(len(FRAMES)) if at < len(b"".join(FRAMES[: n + 1])))
    actual, messages = check_content(bytes(content))

    assert not actual.whole
    assert all_but(number) == messages
    if number < len(FRAMES) - 1:
        assert (number + 1, len(b"".join(FRAMES[:number]))) == (
            actual.flaws[0].frame,
            actual.flaws[0].offset_bytes,
        )
        assert max([seq for one in SEQS[:number] for seq in one], default=0) == (
            actual.flaws[0].after_seq
        )
    if number in WITH_MESSAGES and number > 1:
        assert f"{len(SEQS[number])} messages are lost" in actual.flaws[0].why


@SOME
@given(st.integers(0, len(whole()) - 1))
def test_a_cut_off_file_is_usable_to_its_last_whole_frame(end: int) -> None:
    """However short it is, whole frames are given back and it is not called whole."""
    actual, messages = check_content(whole()[:end])
    count = next(n for n in range(len(FRAMES) + 1) if len(b"".join(FRAMES[: n + 1])) > end)

    assert not actual.whole
    assert [seq for one in SEQS[:count] for seq in one] == [message.seq for message in messages]


@SOME
@given(st.sampled_from(WITH_MESSAGES[:-1]))
def test_a_missing_frame_is_counted(number: int) -> None:
    """The place is named with how many messages are missing; both sides are usable."""
    found, messages = check_content(b"".join(FRAMES[:number] + FRAMES[number + 1 :]))

    assert all_but(number) == messages
    assert 1 == len(found.flaws)
    assert f"{len(SEQS[number])} messages are missing before it" == found.flaws[0].why
    assert number + 1 == found.flaws[0].frame


@SOME
@given(st.sampled_from(WITH_MESSAGES[:-1]))
def test_swapped_frames_are_named(number: int) -> None:
    """Two frames in the wrong order are usable, and both places are named."""
    swapped = [*FRAMES[:number], FRAMES[number + 1], FRAMES[number], *FRAMES[number + 2 :]]
    found, messages = check_content(b"".join(swapped))

    assert sorted(message.seq for message in messages) == [message.seq for message in MESSAGES]
    assert [number + 1, number + 2] == [flaw.frame for flaw in found.flaws][:2]
    assert "belong before" in found.flaws[1].why


@SOME
@given(st.sampled_from(WITH_MESSAGES), st.data())
def test_lines_dropped_swapped_or_edited_cost_their_frame_alone(
    number: int, data: st.DataObject
) -> None:
    """A frame that was unpacked, changed and packed again is named; the others stay proven."""
    lines = lines_of(FRAMES[number])
    at = data.draw(st.integers(0, len(lines) - 3))
    other = data.draw(st.integers(at + 1, len(lines) - 2))
    change = data.draw(st.sampled_from(("drop", "swap", "double", "edit")))
    if change == "drop":
        del lines[at]
    elif change == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    elif change == "double":
        lines.insert(at, lines[at])
    else:
        lines[at] = lines[at].replace(b"2026-01-01", b"2026-01-02")
    actual, messages = check_content(
        b"".join([*FRAMES[:number], pack_frame(lines), *FRAMES[number + 1 :]])
    )

    assert all_but(number) == messages
    assert [number + 1] == [flaw.frame for flaw in actual.flaws]
    assert all(stretch.proven for stretch in actual.stretches)


def test_what_stands_behind_the_footer_is_named() -> None:
    """A sealed recording ends with its footer."""
    actual, _ = check_content(whole() + FRAMES[2])

    assert not actual.whole
    assert "behind the footer" in actual.flaws[0].why


def test_a_lost_header_leaves_the_rest_usable() -> None:
    """Without its first frame a file still gives back its messages, and says what is lost."""
    found, messages = check_content(b"".join(FRAMES[1:]))

    assert found.header is None
    assert list(MESSAGES) == messages
    assert "its first line is no header" == found.flaws[0].why


def test_frames_of_two_recordings_are_not_taken_for_one() -> None:
    """A whole frame of another recording, at a fitting position, breaks the chain."""
    others = frames_of(
        sealed_recording([replace(message, headers={"ce-id": "x"}) for message in MESSAGES])
    )
    found, _ = check_content(b"".join([*FRAMES[:3], others[3], *FRAMES[4:]]))

    assert not found.whole
    assert [4, 5] == [flaw.frame for flaw in found.flaws]
    assert "it does not continue the frames before it" == found.flaws[0].why


def test_a_file_of_version_1_is_read_and_its_damage_named(tmp_path: Path) -> None:
    """The running hash of version 1 proves what stands before a flaw; behind it checksums are left."""
    frames = version_1()
    good, messages = check_content(b"".join(frames))
    found, rest = check_content(b"".join([*frames[:3], *frames[4:]]))
    (tmp_path / "a").write_bytes(b"".join(frames))
    recording = open_recording(tmp_path / "a")

    assert list(MESSAGES) == list(recording) == messages
    assert recording.sealed
    assert good.whole
    assert 4 == found.flaws[0].frame
    assert not found.stretches[-1].proven
    assert [message for message in all_but(3) if message.seq not in SEQS[4]] == rest
