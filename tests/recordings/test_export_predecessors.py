"""`foresail recording export`: rows of the predecessor's trace, from its own rows and from a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.exit_codes import ExitCode
from foresail.__main__ import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "predecessor" / "trace.jsonl"


def rows_of(path: Path) -> list[dict[str, object]]:
    """Return the objects of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_rows_that_were_imported_come_back_as_they_were(tmp_path: Path) -> None:
    """Every field of every row, in its order of time."""
    assert main(["recording", "import", str(EXAMPLE), str(tmp_path / "old.fslog")]) == 0
    assert main(["recording", "export", str(tmp_path / "old.fslog"), str(tmp_path / "rows")]) == 0

    assert rows_of(tmp_path / "rows") == rows_of(EXAMPLE)


def test_a_run_of_ours_can_be_imported_by_its_rows(run_file: Path, tmp_path: Path) -> None:
    """What export writes, import reads: one row a cycle."""
    assert main(["recording", "export", str(run_file), str(tmp_path / "rows.jsonl")]) == 0
    rows = rows_of(tmp_path / "rows.jsonl")
    assert len(rows) == 60
    for row in rows:
        assert isinstance(row["p_fail_scores"], dict)
        assert isinstance(row["nodes"], list)
        assert set(row["p_fail_scores"]) <= {one["node_id"] for one in row["nodes"]}

    old = tmp_path / "old.fslog"
    assert main(["recording", "import", str(tmp_path / "rows.jsonl"), str(old)]) == 0


def test_an_existing_file_is_kept(
    run_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is overwritten."""
    out = tmp_path / "rows.jsonl"
    out.write_text("mine", encoding="utf-8")

    assert main(["recording", "export", str(run_file), str(out)]) == ExitCode.BAD_INPUT
    assert "give a new file" in capsys.readouterr().err
    assert out.read_text(encoding="utf-8") == "mine"
