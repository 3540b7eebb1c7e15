"""`cut_recording`: a part begins with everything that re-running it needs, and is the log to the last byte."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bus.errors import InputError
from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from bus.recording.check import check_file
from bus.recording.cut import CutSummary, cut_recording
from bus.recording.window import Window, WindowUnit, cycle_of_decision, cycle_of_message
from foresail.__main__ import main
from lab.rerun.verify import verify
from schemas.frames import FullState, apply_frame
from schemas.observation import Observation
from schemas.registry import decode


def cut_window(
    run_file: Path, tmp_path: Path, window: Window
) -> tuple[CutSummary, list[StoredMessage]]:
    """Return what was cut and the messages of the result."""
    target = tmp_path / "part.fslog"
    found = cut_recording(run_file, target, window)
    assert check_file(target).whole
    return found, list(open_recording(target))


def test_a_part_is_the_log_from_its_opening_on(run_file: Path, tmp_path: Path) -> None:
    """From the opening to the window's end every message is there; heads are from before it."""
    log = {message.seq: message for message in open_recording(run_file)}
    actual, messages = cut_window(run_file, tmp_path, Window(WindowUnit.CYCLE, 50, 52))
    row = [message for message in messages if message.seq >= actual.first_seq]

    assert list(range(actual.first_seq, actual.last_seq + 1)) == [message.seq for message in row]
    assert all(log[message.seq] == message for message in messages)
    assert actual.heads == len(messages) - len(row) > 0
    assert cycle_of_message(log[actual.from_seq]) == 50
    assert actual.complete
    assert 1 < actual.first_seq < actual.from_seq


def test_every_delta_of_a_part_resolves(run_file: Path, tmp_path: Path) -> None:
    """From the window's first event on, observations resolve from a keyframe inside the part."""
    actual, messages = cut_window(run_file, tmp_path, Window(WindowUnit.CYCLE, 50, 52))
    state: FullState | None = None
    cycles = []
    for message in messages:
        data = decode(message.subject, message.headers, message.data).data
        if isinstance(data, Observation) and (state or data.frame.frame == "keyframe"):
            state = apply_frame(state, data)
            cycles += [data.cycle] if message.seq >= actual.from_seq else []
    assert [50, 51, 52] == cycles[:3]


def test_every_process_has_a_checkpoint_to_begin_with(run_file: Path, tmp_path: Path) -> None:
    """Before the window each process that keeps state has stored one that the part continues."""
    actual, messages = cut_window(run_file, tmp_path, Window(WindowUnit.CYCLE, 50, 52))
    stored = {
        message.subject.rsplit(".", 1)[-1]
        for message in messages
        if ".checkpoint." in message.subject
        and actual.first_seq <= message.seq < actual.from_seq
        and json.loads(message.data)["folded_seq"] >= actual.first_seq - 1
    }
    told = {
        message.subject.rsplit(".", 1)[-1] for message in messages if ".config." in message.subject
    }
    assert told - {"collector", "stack"} <= stored


def test_a_part_of_a_part_and_a_part_verify(run_file: Path, tmp_path: Path) -> None:
    """Re-running a part gives what was recorded, for every decision of its window."""
    cut_recording(run_file, tmp_path / "a", Window(WindowUnit.CYCLE, 50, 58))
    ends = [message.seq for message in open_recording(run_file) if cycle_of_message(message) == 54]
    cut_recording(tmp_path / "a", tmp_path / "b", Window(WindowUnit.SEQ, None, max(ends)))
    report = verify(tmp_path / "b")

    assert report.holds
    assert report.layers["decision"].equal >= 3


@pytest.mark.parametrize(
    ("flags", "count"),
    [(["--decision", "42"], 1), (["--time", "100s..120s"], 5), (["--seq", "700..720"], 1)],
)
def test_a_part_is_named_in_four_ways(
    run_file: Path, tmp_path: Path, flags: list[str], count: int
) -> None:
    """By decision, by recorded time and by position, as by cycle."""
    target = tmp_path / "part.fslog"
    assert 0 == main(["recording", "cut", str(run_file), str(target), *flags])
    header = open_recording(target).header["cut"]
    window = [message for message in open_recording(target) if message.seq >= header["from_seq"]]

    assert count <= sum(message.subject.endswith(".decision") for message in window) <= count + 1


def test_the_last_decision_and_one_by_its_id_are_found(run_file: Path) -> None:
    """A decision is named by `last`, its cycle, or the beginning of its id."""
    decisions = [
        message for message in open_recording(run_file) if message.subject.endswith(".decision")
    ]
    identity = decisions[7].headers["ce-id"]

    assert cycle_of_message(decisions[-1]) == cycle_of_decision(decisions, "last")
    assert cycle_of_message(decisions[7]) == cycle_of_decision(decisions, identity[:13])
    with pytest.raises(InputError, match="--decision = 999"):
        cycle_of_decision(decisions, "999")


def test_a_log_that_begins_too_late_is_cut_and_called_incomplete(
    run_file: Path, tmp_path: Path
) -> None:
    """Without the checkpoints of its window a part is as long as it can be, and says so."""
    writer = RecordingWriter(tmp_path / "late", open_recording(run_file).header)
    for message in open_recording(run_file):
        if message.seq > 700:
            writer.write(message)
    writer.seal()
    actual = cut_recording(tmp_path / "late", tmp_path / "part", Window(WindowUnit.SEQ, 720, 730))

    assert not actual.complete
    assert 701 == actual.first_seq


def test_damage_is_passed_only_when_told(run_file: Path, tmp_path: Path) -> None:
    """A cut ends at damage and says so; told to go on, it takes what is whole behind it."""
    content = bytearray(run_file.read_bytes())
    content[len(content) // 3] ^= 255
    (tmp_path / "bad").write_bytes(content)
    stopped = cut_recording(tmp_path / "bad", tmp_path / "a", Window(WindowUnit.SEQ))
    passed = cut_recording(
        tmp_path / "bad", tmp_path / "b", Window(WindowUnit.SEQ), past_damage=True
    )
    log = list(open_recording(run_file))

    assert stopped.damage
    assert log[: stopped.messages] == list(open_recording(tmp_path / "a"))
    assert 1 == passed.gaps
    assert stopped.messages < passed.messages < len(log)
    assert log[-1] == list(open_recording(tmp_path / "b"))[-1]


def test_nothing_half_written_is_left(run_file: Path, tmp_path: Path) -> None:
    """A window that the recording does not hold, or a file that exists, leaves no file behind."""
    with pytest.raises(InputError, match="the window"):
        cut_recording(run_file, tmp_path / "a", Window(WindowUnit.CYCLE, 9_000))
    (tmp_path / "b").write_bytes(b"precious")
    with pytest.raises(InputError, match="never overwritten"):
        cut_recording(run_file, tmp_path / "b", Window(WindowUnit.SEQ))
    writer = RecordingWriter(tmp_path / "c", {})
    first = next(iter(open_recording(run_file)))
    writer.write(first)
    with pytest.raises(ValueError, match="cannot be written behind"):
        writer.write(replace(first))
    writer.close()

    assert [tmp_path / "b", tmp_path / "c"] == sorted(tmp_path.iterdir())
    assert b"precious" == (tmp_path / "b").read_bytes()
