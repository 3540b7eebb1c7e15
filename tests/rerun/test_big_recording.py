"""The proof of long recordings: its altered copy differs where it should, and its rows can fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bus.recording import open_recording
from lab.rerun.diff import diff
from proofs.big_recording import FinishedCommand, diff_row, verify_row
from proofs.big_recording.altered import last_decision, write_altered

RECORDING = Path(__file__).parents[1] / "golden" / "v1.fslog"
VERIFIED: dict[str, Any] = {
    "messages": 100,
    "compared": 60,
    "layers": {"decision": {"equal": 60}},
}
DIFFERED: dict[str, Any] = {
    "decisions": {"same": 9, "changed": 1},
    "differing": [{"cycle": 10}],
    "sides": [{"messages": 100}, {"messages": 100}],
}


def finished_command(
    answer: dict[str, Any], code: int = 0, peak_bytes: int = 100
) -> FinishedCommand:
    """Return a command that ended."""
    return FinishedCommand(code, 1.0, 1.0, peak_bytes, answer)


def test_the_altered_copy_differs_in_its_last_decision_alone(tmp_path: Path) -> None:
    """`diff` finds one changed decision, in the cycle said, and both are sealed and whole."""
    copy = tmp_path / "copy.fslog"
    cycle = write_altered(RECORDING, copy, last_decision(RECORDING))
    difference = diff(RECORDING, copy)
    altered, original = open_recording(copy), open_recording(RECORDING)
    lines = list(zip(original, altered, strict=True))

    assert [cycle] == [one.cycle for one in difference.listed]
    assert 1 == difference.classes["changed"]
    assert 1 == sum(one != other for one, other in lines)
    assert altered.sealed
    assert not altered.damage


@pytest.mark.parametrize(
    ("whole", "holds"),
    [
        (finished_command(VERIFIED), True),
        (finished_command(VERIFIED, code=1), False),
        (finished_command(VERIFIED, peak_bytes=151), False),
        (finished_command({**VERIFIED, "layers": {"decision": {"equal": 59}}}), False),
        (finished_command({}), False),
    ],
)
def test_verify_holds_when_all_is_equal_in_bounded_memory(
    whole: FinishedCommand, holds: bool
) -> None:
    """A difference, growing memory, or nothing compared breaks the row."""
    assert holds is verify_row(whole, finished_command({})).holds


@pytest.mark.parametrize(
    ("whole", "holds"),
    [
        (finished_command(DIFFERED, code=1), True),
        (finished_command(DIFFERED, code=0), False),
        (finished_command(DIFFERED, code=1, peak_bytes=151), False),
        (finished_command({**DIFFERED, "differing": []}, code=1), False),
        (finished_command({**DIFFERED, "differing": [{"cycle": 9}]}, code=1), False),
    ],
)
def test_diff_holds_when_it_finds_the_one_change(whole: FinishedCommand, holds: bool) -> None:
    """A change that is missed, or seen elsewhere, breaks the row."""
    assert holds is diff_row(whole, finished_command({}), cycle=10).holds
    assert not diff_row(replace(whole, answer={}), finished_command({}), cycle=10).holds
