"""Whatever happened to a recording, each command ends with the code that says what it means for it."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from bus.recording import RecordingWriter, open_recording
from bus.recording.format import footer_line
from foresail.__main__ import main
from tests.recordings.files import frames_of, lines_of, pack_frame

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "info": ("recording", "info", "{file}"),
    "check": ("recording", "check", "{file}"),
    "cut": ("recording", "cut", "{file}", "{out}", "--cycle", "2.."),
    "cut past": ("recording", "cut", "{file}", "{out}", "--seq", "..", "--past-damage"),
    "redact": ("recording", "redact", "{file}", "{out}"),
    "to-parquet": ("recording", "to-parquet", "{file}", "{out}"),
    "explain": ("explain", "last", "--recording", "{file}"),
    "timeline": ("timeline", "--recording", "{file}"),
    "tap": ("tap", "decision", "--recording", "{file}"),
    "verify": ("verify", "{file}"),
    "what-if": ("what-if", "{file}"),
    "diff": ("diff", "{file}", "{file}"),
    "sweep": ("sweep", "{file}", "--param", "agents.safety.replicate=0.8", "--out", "{out}"),
}
"""Every verb that opens a recording in this process; `replay` is tried apart: it needs a server."""
HEAVY = ("verify", "what-if", "sweep", "to-parquet", "redact")
OTHER_KINDS = ("frames swapped", "frame doubled", "flip 1", "line ", "lines ", "no JSON", "nothing")
"""Kinds of damage, by how they begin, on which the verbs that compute much are not tried: all verbs
read by one reader, to which these are one more damaged frame.
"""
GOOD, DIFFERS, BAD_INPUT, NOTHING, CUT_OFF = (
    ExitCode.GOOD,
    ExitCode.DIFFERS,
    ExitCode.BAD_INPUT,
    ExitCode.NOTHING_COMPARED,
    ExitCode.CUT_OFF,
)
WHOLE = dict.fromkeys(COMMANDS, GOOD)
NO_RECORDING = dict.fromkeys(COMMANDS, BAD_INPUT)
NO_HEADER = NO_RECORDING | {"check": DIFFERS}
ENDS_EARLY = dict.fromkeys(COMMANDS, CUT_OFF)
DAMAGED = ENDS_EARLY | {"check": DIFFERS}
EMPTY = dict.fromkeys(COMMANDS, NOTHING) | {
    "cut": BAD_INPUT,
    "cut past": BAD_INPUT,
    "explain": BAD_INPUT,
    "tap": GOOD,
}
"""There is no part to cut and no decision to explain; to print nothing of nothing is no finding."""
EMPTY_AND_CUT_OFF = EMPTY | {"tap": CUT_OFF}
Cases = Mapping[str, tuple[bytes, Mapping[str, ExitCode]]]


def small(run_file: Path, tmp_path: Path) -> list[bytes]:
    """Return the frames of the run's first cycles, with header and footer."""
    recording = open_recording(run_file)
    writer = RecordingWriter(tmp_path / "small.fslog", recording.header)
    for message in islice(recording, 130):
        writer.write(message)
    writer.seal()
    return frames_of((tmp_path / "small.fslog").read_bytes())


def cases(frames: list[bytes]) -> Cases:
    """Return files of every kind of damage with the code that each command answers."""
    whole, middle, draw = b"".join(frames), len(frames) * 2 // 3, random.Random(7)
    found = {
        "whole": (whole, WHOLE),
        "empty": (b"", NO_RECORDING),
        "text": (b"no recording\n", NO_RECORDING),
        "no header": (b"".join(frames[1:]), NO_HEADER),
        "header alone": (frames[0], EMPTY_AND_CUT_OFF),
        "nothing recorded": (frames[0] + _footer_of_nothing(frames), EMPTY),
        "no footer": (b"".join(frames[:-1]), ENDS_EARLY),
        "cut in the footer": (whole[:-3], ENDS_EARLY),
        "cut in a frame": (b"".join(frames[:middle]) + frames[middle][:-9], ENDS_EARLY),
        "last frame gone": (b"".join([*frames[:-2], frames[-1]]), DAMAGED),
    }
    damaged = {
        "frame dropped": frames[:middle] + frames[middle + 1 :],
        "frames swapped": [
            *frames[:middle],
            frames[middle + 1],
            frames[middle],
            *frames[middle + 2 :],
        ],
        "frame doubled": [*frames[: middle + 1], *frames[middle:]],
        "behind the footer": [*frames, frames[middle]],
    }
    for number in range(2):
        at = draw.randrange(len(frames[middle]))
        flipped = bytearray(frames[middle])
        flipped[at] ^= 0x55
        damaged[f"flip {number}"] = [*frames[:middle], bytes(flipped), *frames[middle + 1 :]]
    lines = lines_of(frames[middle])
    for name, changed in {
        "line dropped": lines[1:],
        "lines swapped": [lines[1], lines[0], *lines[2:]],
        "no trailer": lines[:-1],
        "line edited": [lines[0].replace(b'"seq":', b'"seq":"x","s":'), *lines[1:]],
        "no JSON": [b"\xff\n", *lines],
        "nothing": [],
    }.items():
        damaged[name] = [*frames[:middle], pack_frame(changed), *frames[middle + 1 :]]
    return found | {name: (b"".join(parts), DAMAGED) for name, parts in damaged.items()}


def _footer_of_nothing(frames: list[bytes]) -> bytes:
    said = json.loads(lines_of(frames[0])[-1])["frame_end"]
    return pack_frame([footer_line({"messages": 0, "last_seq": 0, "chain": said["chain"]})])


def test_no_command_crashes(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The code is the one that the table of exit codes has for it, with at most one line of error, and
    nothing is half written.
    """
    wrong = []
    for name, (content, expected) in cases(small(run_file, tmp_path)).items():
        file = tmp_path / "damaged.fslog"
        file.write_bytes(content)
        same_to_all = expected is DAMAGED and name.startswith(OTHER_KINDS)
        for verb, command in COMMANDS.items():
            if same_to_all and verb in HEAVY:
                continue
            out = tmp_path / f"{name}-{verb}"
            code = main([part.format(file=file, out=out) for part in command])
            output = capsys.readouterr()
            told = f"{name}: {verb}: {code.name}, not {expected[verb].name}: {output.err or output.out}"
            if code != expected[verb]:
                wrong.append(told)
            assert output.err.count("\n") <= 1, told
            assert "Traceback" not in output.err + output.out, told
            assert code == 0 or output.err or output.out, told
    assert not wrong, "\n".join(wrong)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("verb", ["tap", "explain", "timeline", "verify"])
def test_reading_stops_at_the_damage_unless_a_part_is_enough(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """The damaged place and how much was read are said; `--partial` makes that no finding."""
    frames = small(run_file, tmp_path)
    file = tmp_path / "damaged.fslog"
    file.write_bytes(b"".join([*frames[:6], *frames[7:]]))
    command = [part.format(file=file, out="") for part in COMMANDS[verb]]
    recording = open_recording(file)
    count = sum(1 for _ in recording)

    assert CUT_OFF == main(command)
    printed = "".join(capsys.readouterr())
    assert "read up to the damage: frame 7" in printed
    assert f"{count:,} messages were read" in printed
    assert GOOD == main([*command, "--partial"])


def test_a_cycle_behind_the_damage_is_not_simply_unknown(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the cycles that could be read, and that reading ended at damage."""
    frames = small(run_file, tmp_path)
    file = tmp_path / "damaged.fslog"
    file.write_bytes(b"".join([*frames[:6], *frames[7:]]))

    assert BAD_INPUT == main(["explain", "9999", "--recording", str(file)])
    printed = capsys.readouterr().err
    assert "it holds cycles" in printed
    assert "read up to the damage: frame 7" in printed


@pytest.mark.nats
def test_a_replay_ends_where_damage_begins(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be proven is replayed; the damage is said, with the code for it."""
    frames = small(run_file, tmp_path)
    (tmp_path / "a.fslog").write_bytes(b"".join([*frames[:6], *frames[7:]]))
    given = ["replay", str(tmp_path / "a.fslog"), "--speed", "max", "--no-stay", "--no-dashboard"]

    assert CUT_OFF == main([*given, "--state", str(tmp_path / "state")])
    assert "the recording is damaged: frame 7" in capsys.readouterr().out
    (tmp_path / "b.fslog").write_bytes(b"no recording")
    given[1] = str(tmp_path / "b.fslog")
    assert BAD_INPUT == main([*given, "--state", str(tmp_path / "state")])
    assert 1 == capsys.readouterr().err.count("\n")
