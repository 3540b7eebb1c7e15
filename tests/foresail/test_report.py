"""`foresail report`: days of a log as people, files and scripts see them."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from bus.recording import RecordingWriter, open_recording
from foresail.__main__ import main
from foresail.report import sentence_of
from foresail.report_tables import tables_of, template_patches
from projections.activity import Activity, DayRow
from projections.switchback.text import SWITCHBACK_HINT
from tests.timeline.scripted import play_incident


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a recording in two parts that overlap."""
    whole = tmp_path / "whole.fslog"
    shutil.copy(play_incident("node-failure").recording, whole)
    parts = tmp_path / "recordings"
    parts.mkdir()
    for name, cycles in (("later", "..20"), ("earlier", "18..")):
        cut = ["recording", "cut", "--cycle", cycles, str(whole), str(parts / f"{name}.fslog")]
        assert main(cut) == 0
    return tmp_path


def report(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """Return what the verb prints."""
    capsys.readouterr()
    assert main(["report", *map(str, arguments)]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


def test_it_says_what_was_done_and_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The counts of a run in which a node fails, on the screen and in a file."""
    file = folder / "report.md"
    text = report(capsys, "--recording", folder / "whole.fslog", "--markdown", file)

    assert re.match(
        r"In .+ Foresail looked at the cluster \d+ times and wanted \d+ changes?: ", text
    )
    assert "What was done or would have been" in text
    assert "What was refused, and why" in text
    assert "| AgentA:replicate |" in file.read_text(encoding="utf-8")
    again = ("--recording", folder / "whole.fslog", "--markdown", file)
    assert "--markdown" in report(capsys, *again, code=2)


def test_a_report_of_shadow_mode_says_where_to_learn_more() -> None:
    """One sentence without a table: what would have been done, and what measures whether it would help."""
    activity = Activity(first_time=0.0, last_time=7_200.0, modes=Counter(shadow=3))
    assert sentence_of(activity) == "Foresail decided nothing in that time."
    activity.days["2026-01-01"] = DayRow(cycles=1_440, wanted=3, carried_out=2, refused=1)
    assert sentence_of(activity) == (
        "In 2 h Foresail looked at the cluster 1,440 times and wanted 3 changes: 2 would have been carried out, "
        f"its own guards refused 1. {SWITCHBACK_HINT}"
    )
    activity.days["2026-01-01"] = DayRow(cycles=1_440)
    assert sentence_of(activity).endswith("1,440 times and found nothing worth doing.")


def test_jobs_and_bare_pods_have_no_template_to_offer() -> None:
    """A Job's template cannot be changed; of a Deployment the newest amounts of each container are offered."""
    requests = {"app": {"cpu": "250m"}, "side": {"cpu": "25m"}}
    activity = Activity(fitted={"a/Job/x": requests, "a/Pod/y": requests, "a/Deployment/z": requests})  # fmt: skip
    assert list(template_patches(activity)) == ["a/Deployment/z"]
    (table,) = [one for one in tables_of(activity) if one.title == "Requests for templates"]
    assert '"name": "side", "resources": {"requests": {"cpu": "25m"}}' in table.rows[0][1]


def test_recordings_that_overlap_are_counted_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of parts says what the whole says."""
    whole = report(capsys, "--recording", folder / "whole.fslog", "--json")
    parts = report(capsys, "--recording", folder / "recordings", "--json")

    assert json.loads(whole)["actions"]
    assert json.loads(parts) == json.loads(whole)


def test_each_start_of_a_stack_is_a_log_of_its_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its positions begin anew, so two runs in a folder count as two."""
    whole = folder / "whole.fslog"
    once = json.loads(report(capsys, "--recording", whole, "--json"))
    runs = folder / "runs"
    runs.mkdir()
    shutil.copy(whole, runs / "first.fslog")
    recording = open_recording(whole)
    writer = RecordingWriter(runs / "second.fslog", {**recording.header, "incarnation": "second"})
    for message in recording:
        writer.write(message)
    writer.seal()

    twice = json.loads(report(capsys, "--recording", runs, "--json"))
    assert {label: row["decided"] for label, row in twice["actions"].items()} == {
        label: 2 * row["decided"] for label, row in once["actions"].items()
    }
    assert twice["from_seconds"] == once["from_seconds"]


def test_what_cannot_be_read_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty folder, with its remedy."""
    empty = folder / "empty"
    empty.mkdir()
    assert "it holds no *.fslog" in report(capsys, "--recording", empty, code=2)


def test_a_span_of_a_folder_counts_from_its_newest_event(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As that of the whole log does, whichever file it begins in; all of it is more."""
    shutil.copy(folder / "whole.fslog", folder / "recordings")  # the parts end earlier
    everything = json.loads(report(capsys, "--recording", folder / "recordings", "--json"))
    spans = []
    for seconds in (60, 300):
        since = ("--since", f"{seconds}s", "--json")
        whole = json.loads(report(capsys, "--recording", folder / "whole.fslog", *since))
        assert json.loads(report(capsys, "--recording", folder / "recordings", *since)) == whole
        spans.append(whole["to_seconds"] - whole["from_seconds"])
    assert spans[0] <= 60.0 < spans[1] <= 300.0
    assert everything["to_seconds"] - everything["from_seconds"] > spans[1]
