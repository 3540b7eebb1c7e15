"""`foresail experiment suite`: several gates, one answer; and the report's figures as CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from foresail.__main__ import main
from tests.lab.experiments.test_actions import stored


def _suite(folder: Path, gains: dict[str, float]) -> str:
    """Write a suite of one stored experiment a gain; return its file."""
    lines = ['name = "made-up"']
    for name, gain in gains.items():
        (folder / name).mkdir()
        stored(folder / name, gain)
        lines += [
            "[[gates]]",
            f'file = "{name}/stored.toml"',
            f'name = "{name}"',
            'family = "made"',
        ]
    file = folder / "suite.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize(("second", "code"), [(1.5, 0), (-1.0, 1)])
def test_a_suite_passes_when_every_gate_does(
    second: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One gate that does not pass makes the answer 1, and each gate's reason stands below the table."""
    file = _suite(tmp_path, {"one": 1.0, "two": second})
    assert main(["experiment", "suite", file]) == code
    out = capsys.readouterr().out
    assert f"made-up: {2 - code} of 2 gates pass" in out
    assert "two: baseline-rules against none" in out
    assert main(["experiment", "suite", file, "--json"]) == code
    gates = json.loads(capsys.readouterr().out)["gates"]
    assert [(gate["name"], gate["passes"]) for gate in gates] == [("one", True), ("two", not code)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('name = "s"\n[[gates]]\nfile = "none.toml"', "give a TOML file that can be read"),
        ('name = "s"\ngates = []', "gates"),
        ('name = "s"\n[[gates]]\nfile = "a.toml"\n[[gates]]\nfile = "a.toml"', "stands twice"),
        ('name = "s"\n[[gates]]\nfile = "a.toml"\nsplit = "all"', "gates.0.split"),
    ],
)
def test_a_bad_suite_is_one_line(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be used is named with a remedy, and the exit code is 2."""
    file = tmp_path / "suite.toml"
    file.write_text(text, encoding="utf-8")
    assert main(["experiment", "suite", str(file)]) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert len(error.splitlines()) == 1


def test_figures_are_written_as_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Effects, workloads and trials, unrounded: the trials' means are those of the effects."""
    file = stored(tmp_path, 1.0)
    assert main(["experiment", "report", file, "--csv", str(tmp_path / "figures")]) == 0
    assert "effects.csv" in capsys.readouterr().out

    def rows(name: str) -> list[dict[str, str]]:
        text = (tmp_path / "figures" / name).read_text(encoding="utf-8")
        return list(csv.DictReader(text.splitlines()))

    (effect,) = rows("effects.csv")
    assert (effect["arm"], effect["metric"]) == ("baseline-rules", "score_dollars_per_hour")
    trials = [
        float(row["score_dollars_per_hour"])
        for row in rows("trials.csv")
        if row["arm"] == effect["arm"]
    ]
    assert len(trials) == int(effect["pairs"]) == 6
    assert sum(trials) / 6 == pytest.approx(float(effect["arm_mean"]), rel=1e-12)
    assert rows("workloads.csv")[0]["workload"] == "google2011"


def test_a_folder_that_cannot_be_written_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file in the folder's place is an error that names the flag."""
    file = stored(tmp_path, 1.0)
    assert main(["experiment", "report", file, "--csv", file]) == 2
    assert "--csv" in capsys.readouterr().err
