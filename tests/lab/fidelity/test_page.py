"""docs/fidelity.md says what the twin of this checkout does beside the committed recordings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from lab.fidelity.__main__ import PAGE, comparisons, main
from lab.fidelity.compare import Comparison
from lab.fidelity.metrics import measure
from lab.fidelity.recording import DATA, read_recording
from lab.fidelity.report import markdown
from lab.fidelity.scenario import read_scenario, scenario_names

ROOT = Path(__file__).resolve().parents[3]


@cache
def all_comparisons() -> list[Comparison]:
    """Return all scenarios as the twin plays them now, beside their recordings."""
    return comparisons(scenario_names())


def test_the_page_is_current() -> None:
    """The committed page is what the command makes; `python -m lab.fidelity` writes it anew."""
    assert (ROOT / PAGE).read_text(encoding="utf-8") == markdown(all_comparisons())


def test_every_failing_row_has_a_cause() -> None:
    """What does not hold stands on the page with its cause, and a row that holds needs none."""
    for one in all_comparisons():
        for row in one.rows:
            assert row.holds == (not row.promise.cause), (one.scenario.name, row.promise.text)


@pytest.mark.parametrize("file", sorted(DATA.glob("*.json")), ids=lambda file: file.stem)
def test_every_recording_belongs_to_a_scenario(file: Path) -> None:
    """A recording is of a scenario's whole length, with versions, and bears every figure asked of it."""
    scenario, recording = read_scenario(file.stem.partition(".")[0]), read_recording(file)
    assert (recording.scenario, recording.seconds) == (scenario.name, scenario.seconds)
    assert recording.programs["kube-scheduler"].startswith("v1.")
    assert recording.pods
    for promise in scenario.promises:
        measure(promise.metric, recording)


def test_a_missing_program_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Measuring without the real programs ends with code 2, the folder and what it lacks."""
    code = main(["measure", "--binaries", str(tmp_path), "--only", "preemption"])
    assert code == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "put etcd into this folder" in message


def test_one_scenario_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`--only` prints that scenario and leaves the page alone."""
    before = (ROOT / PAGE).stat().st_mtime_ns
    main(["--only", "preemption"])
    assert "### preemption" in capsys.readouterr().out
    assert (ROOT / PAGE).stat().st_mtime_ns == before
