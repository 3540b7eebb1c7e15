"""`foresail diff A B`: two recordings aligned by cycle."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from bus.port import StoredMessage
from bus.recording import RecordingWriter, open_recording
from foresail.__main__ import main
from lab.rerun.diff import diff
from tests.architecture.source_tree import ROOT
from tests.rerun.conftest import rewritten, with_data

GOLDEN = ROOT / "tests" / "golden" / "v2.fslog"


def test_a_recording_is_the_same_as_itself(recorded_run: Path) -> None:
    """Nothing differs, and both sides have the same figures."""
    difference = diff(recorded_run, recorded_run)

    assert difference.same
    assert difference.settings == []
    assert difference.classes["same"] == difference.sides[0].totals.decisions > 20


def test_cycles_are_aligned_by_number(
    recorded_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A decision that is missing on one side is alone on the other; a different one is shown."""

    def change(message: StoredMessage) -> StoredMessage | None:
        if not message.subject.endswith(".decision"):
            return message
        cycle = json.loads(message.data)["cycle"]
        if cycle == 4:
            return None
        if cycle != 9:
            return message
        quiet = {"agent": None, "kind": "noop", "target": {"kind": "none", "name": ""}}
        return with_data(message, lambda data: data["parts"][0]["action"].update(quiet))

    other = rewritten(
        recorded_run, tmp_path / "b.fslog", change, {"settings": {"run": {"seed": 9}}}
    )

    assert 1 == main(["diff", str(recorded_run), str(other), "--json"])
    content = json.loads(capsys.readouterr().out)
    assert [(one["cycle"], one["kind"]) for one in content["differing"]] == [(9, "vanished")]
    assert [side["cycles_alone"] for side in content["sides"]] == [1, 0]
    assert {"name": "run.seed", "a": 3, "b": 9} in content["settings"]
    assert 1 == main(["diff", str(recorded_run), str(other)])
    assert "first divergence: cycle 9" in capsys.readouterr().out
    swapped = diff(other, recorded_run)
    assert [(one.cycle, one.kind) for one in swapped.listed] == [(9, "appeared")]
    assert [side.alone for side in swapped.sides] == [0, 1]


@pytest.mark.parametrize(
    ("silent_s", "said"), [(0, "still being written"), (600, "read up to the damage: not sealed")]
)
def test_a_file_that_grows_is_not_called_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], silent_s: float, said: str
) -> None:
    """What nobody sealed is being written where that was done just now, and was cut off where it was long ago."""
    path, source = tmp_path / "open.fslog", open_recording(GOLDEN)
    writer = RecordingWriter(path, source.header)
    for message in source:
        writer.write(message)
    writer.close()
    changed_s = time.time() - silent_s
    os.utime(path, (changed_s, changed_s))
    main(["diff", str(GOLDEN), str(path)])

    assert said in capsys.readouterr().out
