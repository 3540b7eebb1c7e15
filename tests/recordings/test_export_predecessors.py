"""`foresail recording export`: rows of the predecessor's trace, from its own rows and from a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bus.events import event_of
from bus.exit_codes import ExitCode
from bus.recording import open_recording
from foresail.__main__ import main
from schemas.decision import Decision

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


@pytest.mark.parametrize("name", ["trace.jsonl", "events.jsonl", "state.json"])
def test_a_file_that_was_kept_word_for_word_is_given_back(name: str, tmp_path: Path) -> None:
    """Rewards, stages, fields that nobody knows and numbers of any precision: every value of every line."""
    text = EXAMPLE.with_name(name).read_text(encoding="utf-8")
    theirs = [json.loads(text)] if name == "state.json" else [*map(json.loads, text.splitlines())]
    theirs[0] |= {"rack": {"of": ["somebody", 0.1234567890123]}}
    file, kept, back = tmp_path / name, tmp_path / "old.fslog", tmp_path / "back"
    written = (json.dumps(one, indent=2 if name == "state.json" else None) for one in theirs)
    file.write_text("\n".join(written), encoding="utf-8")
    assert main(["recording", "import", "--exact", str(file), str(kept)]) == 0
    assert main(["recording", "export", str(kept), str(back)]) == 0
    assert rows_of(back) == theirs

    if name == "trace.jsonl":  # its predictions cannot be computed again, so `redact` refuses it
        return
    redacted = tmp_path / "share.fslog"
    assert main(["recording", "redact", str(kept), str(redacted)]) == 0
    assert not any(
        b"somebody" in one.data or b"worker2" in one.data for one in open_recording(redacted)
    )
    shared = ["recording", "export", str(redacted), str(tmp_path / "shared")]
    assert main(shared) == ExitCode.BAD_INPUT


def test_a_state_file_is_what_it_sums_up(tmp_path: Path) -> None:
    """Its snapshot, decision, stages, trials and files become the events that an event file's lines become."""
    out = tmp_path / "old.fslog"
    assert main(["recording", "import", str(EXAMPLE.with_name("state.json")), str(out)]) == 0
    events = [event_of(message) for message in open_recording(out)]
    assert [event.data.TYPE.split(".", 1)[1] for event in events] == [
        "run.stage.v1", "run.trial.v1", "run.trial.v1", "run.artifact.v1", "run.stage.v1",
        "imported.row.v1", "decision.v2",
    ]  # fmt: skip
    decision = events[-1].data
    assert isinstance(decision, Decision)
    assert (decision.action.full_kind, decision.action.target.name) == ("replicate", "worker2")
    assert [one.priority for one in decision.considered] == [1, 3, 2]
