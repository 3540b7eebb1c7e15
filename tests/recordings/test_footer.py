"""A footer is believed only where it fits what stands before it: to the reader, to `check`, to exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from bus.recording import open_recording
from bus.recording.check import check_file
from bus.recording.format import footer_line
from foresail.__main__ import main
from tests.recordings.files import MESSAGES, frames_of, lines_of, pack_frame, version_1, whole

Frames = Callable[[], list[bytes]]


def frames_2() -> list[bytes]:
    """Return the frames of a recording as it is written today."""
    return frames_of(whole())


VERSIONS = pytest.mark.parametrize("frames", [version_1, frames_2], ids=["version 1", "version 2"])


def write_frames(tmp_path: Path, frames: list[bytes]) -> Path:
    """Return a file of these frames."""
    path = tmp_path / "a.fslog"
    path.write_bytes(b"".join(frames))
    return path


@VERSIONS
def test_a_footer_over_a_missing_last_frame_is_not_believed(tmp_path: Path, frames: Frames) -> None:
    """The last frame of messages is gone and the footer stands: not sealed, damaged, and what is left
    is given back.
    """
    *before, _, footer = frames()
    path = write_frames(tmp_path, [*before, footer])
    recording = open_recording(path)
    left = list(recording)
    file = check_file(path)

    assert list(MESSAGES[: len(left)]) == left
    assert 0 < len(left) < len(MESSAGES)
    assert not recording.sealed
    assert "the footer" in recording.damage
    assert (file.sealed, file.whole, file.cut_off) == (False, False, False)
    assert ["the footer does not fit what stands before it"] == [flaw.why for flaw in file.flaws]


@VERSIONS
@pytest.mark.parametrize("name", ["messages", "last_seq", "chain"])
def test_every_word_of_the_footer_counts(tmp_path: Path, frames: Frames, name: str) -> None:
    """A footer that differs in one count, or in the hash alone, is not believed."""
    *before, footer = frames()
    said = json.loads(lines_of(footer)[0])["sealed"]
    name = "sha256" if name not in said else name
    said[name] = "0" * 64 if isinstance(said[name], str) else said[name] - 1
    path = write_frames(tmp_path, [*before, pack_frame([footer_line(said)])])
    recording = open_recording(path)

    assert list(MESSAGES) == list(recording)
    assert not recording.sealed
    assert not check_file(path).whole


def test_check_ends_with_the_code_for_damage(tmp_path: Path) -> None:
    """However well the rest of the file is; `test_no_command_crashes` tries every other verb."""
    *before, _, footer = frames_2()

    assert ExitCode.DIFFERS == main(
        ["recording", "check", str(write_frames(tmp_path, [*before, footer]))]
    )
