"""docs/fidelity.md says what the twin of this checkout does beside the committed recordings."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from lab.fidelity.__main__ import PAGE, comparisons, main
from lab.fidelity.compare import Comparison
from lab.fidelity.metrics import measure
from lab.fidelity.real.processes import VERSION_FILE, ControlPlane
from lab.fidelity.recording import DATA, read_recording
from lab.fidelity.report import markdown
from lab.fidelity.scenario import read_scenario, scenario_names
from lab.fidelity.twin_side import play_in_twin

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


def test_where_the_real_program_does_not_repeat_itself_the_twin_does_not() -> None:
    """The order of pods in a map decides how many machines come: drawn by the seed, equal for one seed."""
    scenario = read_scenario("autoscaler-mixed-pods")
    counts = {
        seed: measure("machines_chosen", play_in_twin(scenario, seed)) for seed in range(1, 6)
    }
    assert len(set(counts.values())) > 1
    assert counts[1] == measure("machines_chosen", play_in_twin(scenario, 1))


def test_the_page_has_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """Another seed is for scenarios that are named; it would make another page."""
    assert main(["--seed", "8"]) == 2
    assert "--seed = 8: name scenarios with --only" in capsys.readouterr().err


def test_a_program_that_does_not_say_its_version_is_noted(tmp_path: Path) -> None:
    """Its version stands in the folder's file of versions; one that is nowhere is said to be nowhere."""
    for name in ("etcd", "kube-scheduler", "other"):
        answer = "echo Kubernetes v9" if name == "kube-scheduler" else "exit 2"
        (tmp_path / name).write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / VERSION_FILE).write_text('{"etcd": "3", "kube-scheduler": "1"}', encoding="utf-8")
    plane = ControlPlane(tmp_path, tmp_path)
    names = ("etcd", "kube-scheduler", "other")
    assert [plane.version(name) for name in names] == ["3", "v9", "version not stated"]


def test_one_scenario_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """`--only` prints that scenario and leaves the page alone."""
    before = (ROOT / PAGE).stat().st_mtime_ns
    main(["--only", "preemption"])
    assert "### preemption" in capsys.readouterr().out
    assert (ROOT / PAGE).stat().st_mtime_ns == before
