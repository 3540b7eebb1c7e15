"""The table, end to end on a small folder: splits, causality, bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bus.errors import InputError
from foresail.__main__ import main
from lab.forecast.demand.origins import Origins, origins_of
from lab.forecast.demand.pack import read_file
from lab.forecast.demand.quantile import Size
from lab.forecast.demand.report import as_json, as_markdown
from lab.forecast.demand.run import DemandOptions, DemandRun, run_demand
from lab.forecast.demand.scores import difference, score
from lab.forecast.demand.series import Family, Series
from lab.forecast.demand.split import Horizon, Parts, parts_of
from lab.forecast.demand.table import MODEL, RULES
from lab.forecast.demand.tracked import follow_target, start_of
from services.model_directory import read_model
from tests.forecast.demand.made import wave, write_cell, write_job_days

JOB_DAYS = "demand/google2011_job_day_usage_5min.parquet"
HOUR = Horizon(0, 12)
TINY = Size(rounds=8, depth=3, eta=0.3, threads=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small folder of demand files."""
    path = tmp_path_factory.mktemp("pack")
    write_cell(path)
    write_job_days(path)
    return path


@pytest.fixture(scope="module")
def options() -> DemandOptions:
    """Return a run that takes seconds."""
    return DemandOptions(name="tiny", horizons=(12,), size=TINY, only="cpu")


@pytest.fixture(scope="module")
def demand_run(folder: Path, options: DemandOptions) -> DemandRun:
    """Return one run."""
    return run_demand(folder, options, lambda text, share: None)


@pytest.fixture(scope="module")
def jobs(folder: Path) -> tuple[Family, Origins]:
    """Return the job-days' cpu with its origins."""
    family = read_file(folder, JOB_DAYS)[0]
    return family, origins_of(family, [12])


def test_parts_share_no_row_no_time_and_no_owner(jobs: tuple[Family, Origins]) -> None:
    """With unseen owners, fit, calibration and test differ in owners, and test is later."""
    family, rows = jobs
    parts = parts_of(family, rows, HOUR)
    owners = [set(rows.owner[part]) for part in (parts.fit, parts.calibrate, parts.test)]
    assert all(owners)
    assert not owners[0] & owners[1]
    assert not (owners[0] | owners[1]) & owners[2]
    learnt = rows.step[parts.fit | parts.calibrate]
    assert learnt.max() + 12 <= family.split_step <= rows.step[parts.test].min()


def test_a_single_series_is_split_by_time_alone(folder: Path) -> None:
    """Peaks that fit end before calibration begins, and those before the test begins."""
    family = read_file(folder, "demand/google2019_cell_usage_5min.parquet")[0]
    rows = origins_of(family, [12])
    parts = parts_of(family, rows, HOUR)
    assert rows.step[parts.fit].max() + 12 <= family.calibration_step
    assert rows.step[parts.calibrate].min() >= family.calibration_step
    assert rows.step[parts.calibrate].max() + 12 <= family.split_step
    assert rows.step[parts.test].min() >= family.split_step


def test_the_future_changes_no_feature_and_no_limit() -> None:
    """Cutting a series changes nothing before the cut but the peaks that reached over it."""
    values = wave(500, 3)
    whole, cut = (
        origins_of(
            Family("f", "cpu", "u", (Series("a", 0, part),), 300, 3, unseen_owners=False), [12]
        )
        for part in (values, np.concatenate([values[:250], np.full(30, 77.0)]))
    )
    before = whole.step < 250
    count = int(before.sum())
    assert (cut.step[:count] == whole.step[before]).all()
    assert cut.features[:count].tobytes() == whole.features[before].tobytes()
    for name, limits in whole.limits.items():
        assert cut.limits[name][:count].tobytes() == limits[before].tobytes(), name
    assert cut.so_far[:count].tobytes() == whole.so_far[before].tobytes()
    assert (cut.peaks[:count] != whole.peaks[before]).any()


def test_series_too_short_for_a_horizon_are_left_out() -> None:
    """A short series beside a long one gives no rows; a family of short ones is refused."""
    long, short = Series("a", 0, wave(300, 1)), Series("b", 0, wave(40, 2))
    family = Family("f", "cpu", "u", (long, short), 200, 3, unseen_owners=False)
    assert set(origins_of(family, [36]).owner) == {0}
    with pytest.raises(InputError, match="too short"):
        origins_of(replace(family, series=(short,)), [36])


def test_following_learns_only_of_peaks_that_have_passed(jobs: tuple[Family, Origins]) -> None:
    """Limits up to a moment are the same whatever the peaks not yet over turn out to be."""
    family, rows = jobs
    parts = parts_of(family, rows, HOUR)
    raw = rows.limits["n_sigma"]
    moment = family.split_step + 100
    later = rows.step + 12 > moment
    other = replace(rows, peaks=np.where(later[:, None], 1e9, rows.peaks))
    start = start_of(raw, rows, parts, HOUR, 0.05)
    one, two = (follow_target(raw, each, parts, HOUR, start, 0.05) for each in (rows, other))
    early = rows.step <= moment
    assert one[early].tobytes() == two[early].tobytes()
    assert one[~early].tobytes() != two[~early].tobytes()


def test_scores_by_hand(jobs: tuple[Family, Origins]) -> None:
    """Violation, savings and pinball loss of a limit at the peak, and of one at half of it."""
    family, rows = jobs
    test = np.flatnonzero(parts_of(family, rows, HOUR).test)
    peaks = rows.peaks[:, 0]
    exact = score(peaks, rows, test, HOUR, 0.05)
    assert (exact.violation, exact.pinball, exact.owners_over) == (0.0, 0.0, 0.0)
    assert exact.savings == pytest.approx((1 - peaks[test] / rows.top[test]).mean())
    half = score(peaks / 2, rows, test, HOUR, 0.05)
    assert (half.violation, half.owners_over) == (1.0, 1.0)
    assert half.pinball == pytest.approx((0.95 * peaks[test] / 2 / rows.top[test]).mean())
    gain = difference(peaks / 2, peaks, rows, test, 1)
    assert gain.value == pytest.approx(half.savings - exact.savings)
    assert 0 < gain.low < gain.value < gain.high
    assert (gain.units, gain.unit) == (len(set(rows.owner[test])), "series")


def test_the_table_holds_every_method_on_every_family(demand_run: DemandRun) -> None:
    """Each family has all rules and the model, and the model's quantiles do not cross."""
    assert [table.family for table in demand_run.tables] == [
        "google2011 job-days cpu",
        "google2019 cell cpu",
    ]
    for table in demand_run.tables:
        assert [row.method for row in table.methods] == [*RULES, MODEL]
        rates = [row.plain_violation for row in table.quantiles]
        assert rates == sorted(rates, reverse=True)
        assert abs(table.method(MODEL).followed.violation - 0.05) < 0.03
        assert table.oracle_savings > table.method(MODEL).followed.savings


def test_equal_runs_write_equal_bytes(
    folder: Path, options: DemandOptions, demand_run: DemandRun, tmp_path: Path
) -> None:
    """Two runs give the same model directory and the same report, byte for byte."""
    again = run_demand(folder, options, lambda text, share: None)
    for name, one in (("a", demand_run), ("b", again)):
        one.model.write(tmp_path / name)
    first, second = (
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).iterdir())}
        for name in "ab"
    )
    assert first == second
    assert {"manifest.json", "card.md", "demand-3600s-p90.ubj"} <= first.keys()
    about = {"name": "tiny"}
    assert as_markdown(demand_run.tables, 0.05, about) == as_markdown(again.tables, 0.05, about)
    assert json.dumps(as_json(demand_run.tables, 0.05, about)) == json.dumps(
        as_json(again.tables, 0.05, about)
    )


def test_the_model_directory_can_be_read_and_predicts(
    demand_run: DemandRun, tmp_path: Path
) -> None:
    """What was written is a demand model of four quantiles with a factor each but the median's."""
    demand_run.model.write(tmp_path / "model")
    manifest = read_model(tmp_path / "model").manifest
    assert (manifest.kind, manifest.quantiles) == ("demand", (0.5, 0.9, 0.95, 0.99))
    kinds = {booster.quantile: booster.calibration.kind for booster in manifest.boosters}
    assert kinds == {0.5: "none", 0.9: "factor", 0.95: "factor", 0.99: "factor"}
    assert manifest.target == "spreads_above_mean_2h"


def test_the_command_writes_model_and_report(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`foresail forecast demand` prints the table as JSON and leaves both in the workspace."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path))
    monkeypatch.setattr("foresail.forecast.demand.SIZES", {"small": TINY})
    given = ["--input", str(folder), "--name", "mine", "--size", "small", "--horizon", "1h"]
    assert main(["forecast", "demand", *given, "--family", "cell memory", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [table["family"] for table in printed["tables"]] == [
        "google2019 cell memory",
    ]
    report = (tmp_path / "reports" / "demand-mine.md").read_text()
    assert "max(N-sigma, RC-like)" in report
    assert (tmp_path / "models" / "mine" / "manifest.json").is_file()


@pytest.mark.parametrize(
    ("flag", "value", "complaint"),
    [
        ("--target", "much", "--target"),
        ("--target", "90%", "--target"),
        ("--horizon", "7m", "multiple of 5m"),
        ("--horizon", "9h", "5m to 3h"),
        ("--family", "nobody", "no family"),
        ("--input", "nowhere", "no such file"),
    ],
)
def test_bad_options_are_one_line(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flag: str,
    value: str,
    complaint: str,
) -> None:
    """A bad option exits with 2, names itself, and leaves nothing behind."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path / "work"))
    given = {"--input": str(folder)} | {flag: value}
    words = [word for pair in given.items() for word in pair]
    assert main(["forecast", "demand", *words]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "work").exists()


def test_a_run_refuses_a_folder_without_series(tmp_path: Path, options: DemandOptions) -> None:
    """A folder that holds none of the files is refused by name."""
    with pytest.raises(InputError, match="it holds none of"):
        run_demand(tmp_path, options, lambda text, share: None)


def test_parts_of_nothing_are_empty(jobs: tuple[Family, Origins]) -> None:
    """A rule without calibration rows starts from no share at all."""
    _, rows = jobs
    nothing = np.zeros(len(rows), dtype=bool)
    parts = Parts(nothing, nothing, nothing, nothing)
    assert start_of(rows.limits["vpa"], rows, parts, HOUR, 0.05).share == 0.0
