"""`foresail experiment gate` and `report` on stored results: exit codes, files, what people read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foresail.__main__ import main
from lab.experiments.code_version import code_version
from lab.experiments.results import ResultFolder
from lab.experiments.run import Plan
from lab.experiments.spec import read_experiment
from tests.lab.experiments.made_up import results, shifted

FILE = """
name = "stored"
arms = ["none", "baseline-rules"]
[[workloads]]
name = "google2011"
[seeds]
count = 6
[hypothesis]
arm = "baseline-rules"
against = "none"
[inference]
resamples = 200
"""


def stored(folder: Path, gain: float) -> str:
    """Write an experiment and made-up results of today's code; return the experiment's file."""
    file = folder / "stored.toml"
    file.write_text(FILE, encoding="utf-8")
    experiment = read_experiment(file)
    plan = Plan(experiment, "development", folder / "stored.results", code_version())
    drawn = results(experiment, shifted({"baseline-rules": gain}, noise=0.1))
    for task, result in zip(plan.tasks, drawn, strict=True):
        ResultFolder(plan.folder).write(result.model_copy(update={"fingerprint": task.fingerprint}))
    return str(file)


@pytest.mark.parametrize(("gain", "code", "word"), [(1.0, 0, "helps"), (-1.0, 1, "harms")])
def test_the_gate_answers_by_its_exit_code(
    gain: float, code: int, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 for a gain, 1 for harm, and the reason in words."""
    file = stored(tmp_path, gain)
    assert main(["experiment", "gate", file]) == code
    assert f"baseline-rules {word}" in capsys.readouterr().out
    assert main(["experiment", "gate", file, "--json"]) == code
    assert json.loads(capsys.readouterr().out)["passes"] is (code == 0)


def test_the_report_is_a_page_and_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both beside the results, and the first screen in the terminal."""
    assert main(["experiment", "report", stored(tmp_path, -1.0)]) == 0
    assert "baseline-rules harms on outcome score" in capsys.readouterr().out
    page = (tmp_path / "stored.results" / "report.html").read_text(encoding="utf-8")
    text = (tmp_path / "stored.results" / "report.md").read_text(encoding="utf-8")
    assert "<svg" in page
    assert f"- Code: {code_version()}." in text
    assert str(tmp_path) not in page + text


def test_nothing_to_report_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a result the page lists what is missing, and the exit code says that nothing was compared."""
    file = tmp_path / "stored.toml"
    file.write_text(FILE, encoding="utf-8")
    assert main(["experiment", "report", str(file)]) == 4
    assert "No world was tried" in capsys.readouterr().out
    assert main(["experiment", "gate", str(file)]) == 1


@pytest.mark.parametrize(("gain", "word"), [(1.0, "passes"), (-1.0, "does not pass")])
def test_a_kept_answer_stands_in_the_list_of_profiles(
    gain: float,
    word: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`gate --keep` replaces the answer of the same experiment; `up --profile list` prints it."""
    kept = tmp_path / "gates.json"
    monkeypatch.setattr("foresail.gates.GATES", kept)
    for shift in (-gain, gain):
        main(["experiment", "gate", stored(tmp_path, shift), "--keep"])
    capsys.readouterr()

    assert main(["up", "--profile", "list"]) == 0
    listed = " ".join(capsys.readouterr().out.split())
    assert f"{word} (stored, development split, 6 seeds)" in listed
    assert "not tried" in listed
    assert 1 == len(json.loads(kept.read_text()))


def test_only_a_gate_about_a_profile_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """HPA is nobody's profile; a damaged file is refused and stays as it is."""
    kept = tmp_path / "gates.json"
    monkeypatch.setattr("foresail.gates.GATES", kept)
    file = Path(stored(tmp_path, 1.0))
    file.write_text(FILE.replace('"baseline-rules"', '"hpa"'), encoding="utf-8")
    assert main(["experiment", "gate", str(file), "--keep"]) == 2
    assert "--keep = hpa" in capsys.readouterr().err
    assert not kept.exists()
    kept.write_text("{", encoding="utf-8")
    assert main(["up", "--profile", "list"]) == 2
    assert "remove it" in capsys.readouterr().err
    assert "{" == kept.read_text()
