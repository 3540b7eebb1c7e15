"""A long proof goes on where it stopped, and never counts results of other code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.errors import InputError
from proofs import __main__ as command
from proofs.results import Results, fingerprint


def test_finished_tries_are_kept_and_an_unfinished_line_is_not(tmp_path: Path) -> None:
    """After an interruption in the middle of a line every whole line counts, and new ones follow."""
    first = Results.open(tmp_path, "simulation", "abc")
    first.add("1", {"problems": []})
    first.add("2", {"problems": ["x"]})
    file = tmp_path / "simulation.jsonl"
    file.write_bytes(file.read_bytes() + b'{"key": "3", "prob')

    second = Results.open(tmp_path, "simulation", "abc")
    second.add("4", {"problems": []})

    expected = {"1": {"problems": []}, "2": {"problems": ["x"]}, "4": {"problems": []}}
    assert expected == Results.open(tmp_path, "simulation", "abc").found


@pytest.mark.parametrize("content", [json.dumps({"code": "other"}) + "\n", "nonsense\n", ""])
def test_results_of_other_code_are_refused(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results of other code, and files that are none, end in one line and exit code 2."""
    (tmp_path / "simulation.jsonl").write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match="give another folder"):
        Results.open(tmp_path, "simulation", fingerprint())
    assert command.main(["simulation", "--small", "--results", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    """A proof without a folder for its results keeps them in memory."""
    results = Results.open(None, "simulation", "abc")
    results.add("1", {"problems": []})

    assert results.found == {"1": {"problems": []}}
    assert list(tmp_path.iterdir()) == []
