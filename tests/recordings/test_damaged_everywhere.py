"""Whatever happened to a recording, no command crashes on it: each ends with a code and a clear line."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from foresail.__main__ import main
from tests.recordings.files import frames_of, lines_of, packed

COMMANDS = (
    ("recording", "info", "{file}"),
    ("recording", "check", "{file}"),
    ("recording", "cut", "{file}", "{out}", "--cycle", "20.."),
    ("recording", "cut", "{file}", "{out}", "--seq", "..", "--past-damage"),
    ("recording", "redact", "{file}", "{out}"),
    ("recording", "to-parquet", "{file}", "{out}"),
    ("explain", "last", "--recording", "{file}"),
    ("tap", "decision", "--recording", "{file}"),
    ("verify", "{file}"),
)
"""Every verb that opens a recording in this process; `replay` is tried apart: it needs a server."""
CODES = {0, 1, 2}


def small(run_file: Path) -> list[bytes]:
    """Return the frames of the run's first cycles."""
    return frames_of(run_file.read_bytes())[:9]


def damaged(run_file: Path) -> dict[str, bytes]:
    """Return files of every kind of damage, some places drawn from a seed."""
    frames, draw = small(run_file), random.Random(7)
    whole = b"".join(frames)
    found = {"empty": b"", "text": b"no recording\n", "header alone": frames[0]}
    for number in range(2):
        at = draw.randrange(len(whole))
        found[f"flip {number}"] = whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
        found[f"cut {number}"] = whole[: draw.randrange(len(whole))]
    found["frame dropped"] = b"".join([*frames[:4], *frames[5:]])
    found["frames swapped"] = b"".join([*frames[:4], frames[5], frames[4], *frames[6:]])
    found["frame doubled"] = b"".join([*frames[:5], frames[4], *frames[5:]])
    found["no header"] = b"".join(frames[1:])
    lines = lines_of(frames[5])
    for name, changed in {
        "line dropped": lines[1:],
        "lines swapped": [lines[1], lines[0], *lines[2:]],
        "no trailer": lines[:-1],
        "line edited": [lines[0].replace(b'"seq":', b'"seq":"x","s":'), *lines[1:]],
        "no JSON": [b"\xff\n", *lines],
        "nothing": [],
    }.items():
        found[name] = b"".join([*frames[:5], packed(changed), *frames[6:]])
    return found


@pytest.mark.timeout(120)
def test_no_command_crashes(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 0, 1 or 2, at most one line of error, and nothing half written."""
    for name, content in damaged(run_file).items():
        file = tmp_path / "damaged.fslog"
        file.write_bytes(content)
        for number, command in enumerate(COMMANDS):
            out = tmp_path / f"{name}-{number}"
            code = main([part.format(file=file, out=out) for part in command])
            said = capsys.readouterr()
            told = f"{name}: {' '.join(command[:2])}: {said.err or said.out}"
            assert code in CODES, told
            assert said.err.count("\n") <= 1, told
            assert "Traceback" not in said.err + said.out, told
            assert code == 0 or said.err or said.out, told
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.nats
def test_a_replay_ends_where_damage_begins(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can be proven is replayed; the damage is said, with exit code 1."""
    frames = small(run_file)
    (tmp_path / "a.fslog").write_bytes(b"".join([*frames[:6], *frames[7:]]))
    given = ["replay", str(tmp_path / "a.fslog"), "--speed", "max", "--no-stay", "--no-dashboard"]

    assert 1 == main([*given, "--state", str(tmp_path / "state")])
    assert "the recording is damaged: frame 7" in capsys.readouterr().out
    (tmp_path / "b.fslog").write_bytes(b"no recording")
    given[1] = str(tmp_path / "b.fslog")
    assert 2 == main([*given, "--state", str(tmp_path / "state")])
    assert 1 == capsys.readouterr().err.count("\n")
