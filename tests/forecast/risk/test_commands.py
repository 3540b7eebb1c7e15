"""train, evaluate, inspect as people run them, on a small made trace of crash loops."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from foresail.__main__ import main
from lab.forecast.dataset import open_dataset
from lab.forecast.risk.booster_profiles import PROFILES
from lab.forecast.risk.booster_scoring import score_profile
from lab.forecast.risk.options import Options
from lab.forecast.risk.rows import read_rows
from lab.forecast.risk.run_training import train_model
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.store import TrainingStore
from tests.forecast.risk.made import write_trace

TRAIN = ("forecast", "train", "--dataset", "made", "--rounds", "8")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace with a dataset and a model trained on it."""
    folder = tmp_path_factory.mktemp("workspace")
    trace_path = write_trace(folder / "trace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BORG_XGBOOST_WORKSPACE", str(folder))
        patch.delenv("BORG_DATA_DIR", raising=False)
        patch.delenv("BORG_PROCESSED_DIR", raising=False)
        assert 0 == main([
            "forecast", "dataset", "--trace", "google2011", "--input", str(trace_path), "--name", "made",
            "--features", "live",
        ])  # fmt: skip
        assert 0 == main(TRAIN)
        yield folder


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_trained_model_is_evaluated_with_its_baselines(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report compares the model with every baseline on unseen jobs, in Markdown, JSON and plots."""
    file = place / "reports" / "made.md"
    capsys.readouterr()
    assert 0 == main(["forecast", "evaluate", "--dataset", "made", "--report", str(file), "--json"])
    printed = json.loads(capsys.readouterr().out)
    text, content = (
        file.read_text("utf-8"),
        json.loads(file.with_suffix(".json").read_text("utf-8")),
    )

    horizon = content["horizons"][0]
    assert {"1", "1b"} == horizon["splits"].keys()
    models = horizon["splits"]["1"]["models"]
    assert {"model", "logistic", "job rule", "name rule", "base rate"} <= models.keys()
    assert models["model"]["ap"]["value"] > models["base rate"]["ap"]["value"]
    assert printed["horizons"][0]["splits"]["1"]["rows"] == horizon["splits"]["1"]["rows"]
    for words in (
        "AP", "without 10 worst jobs", "equal job weight", "P / R at 0.1%", "before the job's first",
        "Brier skill", "expected / observed", "lead time", "excludes 0", "share of gain", "drift",
        "Rolling recalibration", "on unseen jobs",
    ):  # fmt: skip
        assert words in text
    for name in horizon["plots"]:
        assert (file.with_name("made-plots") / name).read_text("utf-8").startswith("<?xml")


def test_a_diagnosis_sweeps_thresholds_and_names_what_the_trees_use(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nineteen thresholds whose alarms only grow fewer, ECE below MCE, and features with splits."""
    capsys.readouterr()
    assert 0 == main(["forecast", "diagnose", "--dataset", "made", "--json"])
    (horizon,) = json.loads(capsys.readouterr().out)["horizons"].values()
    calibrated = horizon["probabilities"]["calibrated"]

    assert [row["threshold"] for row in calibrated["sweep"]] == [n / 20 for n in range(1, 20)]
    alarms = [row["alarms"] for row in calibrated["sweep"]]
    assert alarms == sorted(alarms, reverse=True)
    assert 0 < calibrated["ece_equal_width"] <= calibrated["mce_equal_width"] <= 1
    assert {"weight", "gain", "cover"} <= horizon["features"][0].keys()
    assert horizon["features"][0]["weight"] > 0

    assert 0 == main(["forecast", "diagnose", "--dataset", "made"])
    assert "(best)" in capsys.readouterr().out


def test_training_twice_gives_the_same_bytes(place: Path) -> None:
    """A second training from nothing writes the same model, byte for byte."""
    assert 0 == main([*TRAIN, "--name", "again"])
    first, second = _hashes(place / "models" / "made"), _hashes(place / "models" / "again")

    assert {name: one for name, one in first.items() if name.endswith(".ubj")} == {
        name: one for name, one in second.items() if name.endswith(".ubj")
    }
    assert _hashes(place / "models" / "made.training") == _hashes(
        place / "models" / "again.training"
    )


def test_an_interrupted_training_goes_on_at_the_unfinished_horizon(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A horizon that is complete is kept; one whose record is missing is trained again."""
    both = [
        *TRAIN,
        "--name",
        "two",
        "--horizon",
        "15m",
        "--horizon",
        "30m",
        "--member",
        "d4",
        "--json",
    ]
    assert 0 == main(both)
    before = _hashes(place / "models" / "two")
    (TrainingStore(place / "models" / "two").horizon(30) / "record.json").unlink()
    capsys.readouterr()
    assert 0 == main(both)
    content = json.loads(capsys.readouterr().out)

    assert [15] == content["resumed"]
    assert [900.0, 1800.0] == content["horizons_seconds"]
    assert before == _hashes(place / "models" / "two")


def test_the_illusion_is_labelled_everywhere(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Random rows come only with --illusion; model name, card, manifest and report say so."""
    assert 0 == main([*TRAIN, "--illusion", "--member", "d4"])
    folder, file = place / "models" / "made-illusion", place / "reports" / "illusion.md"
    evaluate = ["forecast", "evaluate", "--dataset", "made", "--model", "made-illusion"]
    assert 0 == main([*evaluate, "--report", str(file), "--no-plots"])
    text = file.read_text("utf-8")

    assert "ILLUSION" in (folder / "card.md").read_text("utf-8")
    assert "ILLUSION" in json.loads((folder / "manifest.json").read_text("utf-8"))["data"]["split"]
    assert "ILLUSION" in text
    assert "Believe none of its figures" in text
    assert "ILLUSION" in capsys.readouterr().out


def test_a_model_is_inspected(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """inspect names data, thresholds that fall with their budgets, features, and explains a row."""
    capsys.readouterr()
    asked = ["forecast", "inspect", "--model", "made", "--dataset", "made", "--row", "5", "--json"]
    assert 0 == main(asked)
    content = json.loads(capsys.readouterr().out)
    thresholds = content["thresholds"]

    assert thresholds["replicate_risk_ratio"] > thresholds["migrate_risk_ratio"]
    assert thresholds["migrate_risk_ratio"] > thresholds["throttle_risk_ratio"]
    assert 4 == content["horizons"]["15 min"]["members"]
    shares = [one["value"] for one in content["horizons"]["15 min"]["by_gain"]]
    assert 0.5 < math.fsum(shares) < 1.0 + 1e-9
    assert shares == sorted(shares, reverse=True)
    assert 0.0 <= content["row"]["15 min"]["probability"] <= 1.0
    assert 0 == main(["forecast", "inspect", "--model", "made"])


def test_another_dataset_is_tested_on_jobs_that_were_not_learnt_from(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model meets another folder: what it may be tested on excludes every job it learnt from."""
    trace_path = write_trace(place / "other", seed=5, jobs=500)
    build = [
        "forecast",
        "dataset",
        "--trace",
        "google2011",
        "--input",
        str(trace_path),
        "--name",
        "other",
    ]
    assert 0 == main([*build, "--features", "live"])
    capsys.readouterr()
    asked = ["forecast", "evaluate", "--dataset", "other", "--model", "made", "--json"]
    assert 0 == main(asked)
    horizon = json.loads(capsys.readouterr().out)["horizons"][0]

    assert "new-jobs" in horizon["splits"]
    trained = TrainingStore(place / "models" / "made").read(15)
    assert trained is not None
    assert 500 - len(trained.jobs) == horizon["splits"]["new-jobs"]["jobs"]


def test_failing_checks_are_an_exit_code(place: Path) -> None:
    """With --check, a report whose own check fails ends in exit code 1, without it in 0."""
    weak = [*TRAIN[:-1], "1", "--name", "weak", "--member", "d4"]
    assert 0 == main(weak)
    evaluate = ["forecast", "evaluate", "--dataset", "made", "--model", "weak", "--split", "1b"]

    assert main([*evaluate, "--check"]) in {0, 1}
    assert 0 == main(evaluate)


@pytest.mark.parametrize(
    ("arguments", "expected_text"),
    [
        (["train", "--dataset", "none"], "no such dataset"),
        (["train", "--dataset", "made", "--horizon", "7m"], "the dataset has labels for"),
        (["train", "--dataset", "made", "--horizon", "soon"], "give a duration"),
        (["train", "--dataset", "made", "--train-share", "2"], "between 0 and 1"),
        (["train", "--dataset", "made", "--rounds", "0"], "give 1 or more"),
        (["train", "--dataset", "made", "--depth", "40"], "--depth = 40: give 1 to 16"),
        (
            ["train", "--dataset", "made", "--subsample", "0"],
            "--subsample = 0.0: give a number above 0",
        ),
        (["evaluate", "--dataset", "made", "--model", "none"], "name a model directory"),
        (["evaluate", "--dataset", "made", "--split", "9"], "this data has"),
        (["evaluate", "--dataset", "made", "--horizon", "60m"], "the model has"),
        (["diagnose", "--dataset", "made", "--split", "9"], "this data has"),
        (["inspect", "--model", "made", "--row", "1"], "together"),
        (["inspect", "--model", "made", "--dataset", "made", "--row", "-1"], "give 0 to"),
    ],
)
def test_bad_input_is_one_line(
    place: Path, arguments: list[str], expected_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be done is said in one line with the remedy, and the exit code is 2."""
    capsys.readouterr()
    assert 2 == main(["forecast", *arguments])
    error = capsys.readouterr().err.strip()

    assert expected_text in error
    assert 1 == len(error.splitlines())


def test_a_grid_is_drawn_in_training_and_judged_on_every_row(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Negatives of a grid are drawn for training only; the report counts each test row once."""
    build = ["forecast", "dataset", "--trace", "google2011", "--input", str(place / "trace")]
    assert 0 == main([*build, "--name", "grid", "--anchor", "grid", "--features", "live"])
    options = Options(rounds=4, members=("d4",), pool_rows=1_000, fit_negatives=500)
    source = DatasetSource(open_dataset(place / "processed" / "grid"))
    trained = train_model(source, place / "models" / "grid", (15,), options, "", print)
    capsys.readouterr()
    assert 0 == main(["forecast", "evaluate", "--dataset", "grid", "--json"])
    split = json.loads(capsys.readouterr().out)["horizons"][0]["splits"]

    rows = read_rows(source, 15)
    cut = trained.runs[0].cut
    assert trained.runs[0].trained.pool_rate < 0.5
    assert int((rows.time_us >= cut.cut_us).sum()) == split["1"]["rows"] + split["1b"]["rows"]
    expected = split["1b"]["calibration"]["raw"]["expected_observed"]
    assert 0.5 < expected < 2.0


def test_attempts_of_every_age_are_learned_and_judged_by_age(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One model learns placements and later moments and is judged by age; a refit leaves nothing to judge on its
    own data, but another dataset is judged on jobs that it did not learn from."""
    build = ["forecast", "dataset", "--trace", "google2011", "--features", "hazard"]
    for name, trace in (("ages", "trace"), ("later", "later")):
        if trace == "later":
            write_trace(place / trace, seed=9, jobs=450)
        given = ["--input", str(place / trace), "--name", name, "--anchor", "hazard"]
        assert 0 == main([*build, *given])
    train = ["forecast", "train", "--dataset", "ages", "--rounds", "12", "--member", "h4wide"]
    assert 0 == main(train)
    capsys.readouterr()

    assert 0 == main(["forecast", "evaluate", "--dataset", "ages", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert 0 == main([*train, "--name", "whole", "--refit"])
    capsys.readouterr()
    assert 2 == main(["forecast", "evaluate", "--dataset", "ages", "--model", "whole"])
    assert "no failures lie after the model's cut" in capsys.readouterr().err
    assert 0 == main(["forecast", "evaluate", "--dataset", "later", "--model", "whole", "--json"])
    elsewhere = json.loads(capsys.readouterr().out)

    assert sum(window["positives"] for window in report["windows"]) == report["positives"]
    assert sum(cell["rows"] for cell in report["cells"]) == report["rows"]
    assert not any(
        cell["judged"] for cell in report["cells"]
    )  # five programs fail: too few to judge
    assert all(window["brier_skill"] > 0.0 for window in report["windows"])
    assert report["splits"]["1b"]["average_precision"]["model"]["value"] > 0.3
    assert not elsewhere["same_dataset"]
    assert ["new-jobs"] == list(elsewhere["splits"])
    assert elsewhere["rows"] > 300


@pytest.mark.parametrize("name", PROFILES)
def test_the_predecessors_profiles_are_scored_as_they_were(place: Path, name: str) -> None:
    """The score is average precision with shares of recall and precision, and a booster stops early."""
    dataset = open_dataset(place / "processed" / "made")
    profile = replace(PROFILES[name], early_stopping_rounds=5)

    found = score_profile(DatasetSource(dataset), (5, 5), profile)

    assert found["score"] == pytest.approx(
        found["average_precision"]
        + 0.2 * found["recall_at_1_percent"]
        + 0.05 * found["precision_at_1_percent"]
    )
    assert found["average_precision"] > 0.3
    assert 1 <= found["trees"] < profile.n_estimators


def test_a_dataset_with_too_few_failures_is_refused_before_any_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line with the dataset, the failures and what would do; no study is begun."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path))
    examples = Path("examples/predecessor").absolute()
    hour = (examples / "windows.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:200]
    (tmp_path / "hour.csv").write_text("".join(hour), encoding="utf-8")
    given = ["--mapping", str(examples / "names.json"), "--default-cluster", "lab"]
    given += ["--numeric-codes", "google2019", "--anchor", "window", "--name", "hour"]
    build = ["forecast", "dataset", "--trace", "common", "--input", str(tmp_path / "hour.csv")]
    assert main([*build, *given]) == 0
    state = tmp_path / "state"
    tune = ["tune", "--preset", "booster-profiles", "--dataset", "hour", "--state", str(state)]
    assert main(tune) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "--dataset hour: rows that are" in error
    assert "at least 10 are needed" in error
    assert not state.exists()
