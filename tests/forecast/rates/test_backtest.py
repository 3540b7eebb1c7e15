"""`foresail forecast backtest`: which forecasts it writes, what it makes of bad tables, and that none looks ahead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from foresail.__main__ import main
from tests.forecast.rates.made import rows, write

COLUMNS = ["series", "origin_s", "horizon_s", "q05", "q10", "q50", "q90", "q95", "model"]
ORDERED = ("q05", "q10", "q50", "q90", "q95")


def backtest(table: Path, *more: str) -> pl.DataFrame:
    """Run the command and return what it wrote."""
    out = table.with_name("out.parquet")
    assert (
        main(["forecast", "backtest", "--rates", str(table), "--predictions", str(out), *more]) == 0
    )
    return pl.read_parquet(out)


def line(capsys: pytest.CaptureFixture[str], table: Path, *more: str) -> str:
    """Run the command on what it refuses and return its one line."""
    assert main(["forecast", "backtest", "--rates", str(table), *more]) == 2
    error = capsys.readouterr().err.strip()
    assert "\n" not in error
    return error


@pytest.mark.parametrize(
    ("step", "horizons", "stride"),
    [
        (60, [300, 600, 900, 1800, 3600], 900),
        (600, [600, 900, 1800, 3600], 900),
        (3600, [3600], 3600),
    ],
)
def test_origins_and_horizons_follow_the_step(
    tmp_path: Path, step: int, horizons: list[int], stride: int
) -> None:
    """Origins lie a quarter of an hour or a step apart, horizons below a step are left out, and quantiles rise."""
    found = backtest(write(tmp_path, rows(days=2, step=step, series=1)))
    assert found.columns == COLUMNS
    assert sorted(found["horizon_s"].unique()) == horizons
    origins = np.sort(found["origin_s"].unique().to_numpy())
    assert origins[0] == 864_000
    assert set(np.diff(origins)) == {stride}
    assert origins[-1] + stride > 864_000 + 2 * 86_400 - step
    values = found.select(ORDERED).to_numpy()
    assert (np.diff(values, axis=1) >= 0).all()
    assert (values >= 0).all()


def test_nothing_newer_than_the_origin_is_read(tmp_path: Path) -> None:
    """What comes after an origin may be anything: the forecast stays, bit for bit."""
    table = rows(days=4, step=300)
    cut = 864_000 + 3 * 86_400
    before = backtest(write(tmp_path, table))
    later = pl.when(pl.col("t_s") > cut).then(pl.col("value") * 7 + 3).otherwise(pl.col("value"))
    after = backtest(write(tmp_path, table.with_columns(later.alias("value"))))
    until = pl.col("origin_s") <= cut
    assert before.filter(until).equals(after.filter(until))
    assert not before.equals(after)


def test_repairs_are_told_and_change_nothing_that_was_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shuffled, doubled and jittered rows, nulls and gaps: each is counted, and clean rows say the same as before."""
    table = rows(days=3, step=300, series=1)
    clean = backtest(write(tmp_path, table))
    jitter = (
        pl.when(pl.int_range(pl.len()) % 50 == 7).then(pl.col("t_s") + 2).otherwise(pl.col("t_s"))
    )
    messy = pl.concat([table.with_columns(jitter.alias("t_s")), table[100:110]])
    messy = messy.sample(fraction=1.0, shuffle=True, seed=3)
    assert backtest(write(tmp_path, messy)).equals(clean)
    holes = messy.with_columns(
        pl.when(pl.col("t_s") % 7200 == 0).then(None).otherwise(pl.col("value")).alias("value")
    ).filter(~pl.col("t_s").is_between(864_000 + 90_000, 864_000 + 100_000))
    capsys.readouterr()
    backtest(write(tmp_path, holes), "--json")
    repairs: dict[str, Any] = json.loads(capsys.readouterr().out)["repairs"]
    assert repairs["unsorted"] is True
    assert repairs["same_step"] == 10
    assert repairs["off_grid"] > 10
    assert repairs["missing"] > 20
    assert repairs["gaps"] > 30


def test_series_may_be_whole_numbers_short_silent_or_of_another_phase(tmp_path: Path) -> None:
    """Names keep their type; a series of zeros, of two rows, without a number, or that begins at 173 s is no error."""
    table = rows(days=2, step=300, series=1).with_columns(
        series=pl.lit(7), value=pl.col("value").cast(pl.Int32)
    )
    zeros = table.with_columns(series=pl.lit(8), value=pl.lit(0, dtype=pl.Int32))
    short = table[:2].with_columns(series=pl.lit(9))
    unknown = table.with_columns(series=pl.lit(10), value=pl.lit(None, dtype=pl.Int32))
    shifted = table.with_columns(series=pl.lit(11), t_s=pl.col("t_s") + 173)
    found = backtest(write(tmp_path, pl.concat([table, zeros, short, unknown, shifted])))
    assert found.schema["series"] == pl.Int32
    assert sorted(found["series"].unique()) == [7, 8, 9, 11]
    assert found.filter(pl.col("series") == 8)["q50"].max() == pytest.approx(0, abs=1e-9)
    assert set(found.filter(pl.col("series") == 11)["origin_s"] % 300) == {173}
    assert not found.select(ORDERED).to_numpy().astype(float).__contains__(np.nan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.drop("series"), ("column series", "missing")),
        (lambda table: table.rename({"value": "load"}), ("column value", "--value")),
        (lambda table: table.with_columns(value=-pl.col("value")), ("value of a", "0 or more")),
        (lambda table: table.with_columns(t_s=pl.col("t_s") * 1_000_000), ("t_s", "milliseconds")),
        (lambda table: table.with_columns(t_s=pl.col("t_s") * 5), ("step", "3600 s or less")),
        (lambda table: table.with_columns(value=pl.lit("many")), ("value", "give numbers")),
        (lambda table: table.with_columns(pl.col("t_s").cast(pl.String)), ("t_s", "seconds")),
        (lambda table: table.with_columns(value=pl.col("value") * 1e299), ("value", "1e+30")),
        (lambda table: table.head(0), ("--rates", "no rows")),
        (lambda table: table.head(1), ("t_s", "two steps")),
        (
            lambda table: table.with_columns(
                t_s=pl.col("t_s") + (pl.int_range(pl.len()) ** 2 * 37) % 611
            ),
            ("t_s", "resample"),
        ),
        (
            lambda table: table.with_columns(value=pl.lit(None, dtype=pl.Float64)),
            ("--rates", "known value"),
        ),
    ],
)
def test_what_makes_no_rates_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Any, words: tuple[str, ...]
) -> None:
    """A wrong table is refused with one line that names the field and the remedy, and leaves no file."""
    error = line(
        capsys,
        write(tmp_path, change(rows(days=1))),
        "--predictions",
        str(tmp_path / "out.parquet"),
    )
    assert all(word in error for word in words), error
    assert [path.name for path in tmp_path.iterdir()] == ["rates.parquet"]


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_as_good_as_seconds(tmp_path: Path, zone: str | None) -> None:
    """A column of dates with their time gives the forecasts of its seconds since the epoch."""
    table = rows(days=1, step=300, series=1)
    dated = table.with_columns(pl.from_epoch("t_s", time_unit="s").dt.replace_time_zone("UTC"))
    kind = pl.Datetime("ms", zone)
    dated = dated.with_columns(pl.col("t_s").cast(pl.Datetime("ms", "UTC")).cast(kind))
    assert backtest(write(tmp_path, dated, "dated")).equals(backtest(write(tmp_path, table)))


def test_parts_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each part of a column `split` is judged by the rows that it holds, and the report names every rule."""
    table = rows(days=4, step=300).with_columns(
        split=pl.when(pl.col("t_s") < 864_000 + 3 * 86_400)
        .then(pl.lit("train"))
        .otherwise(pl.lit("dev"))
    )
    capsys.readouterr()
    backtest(write(tmp_path, table), "--json", "--report", str(tmp_path / "report.md"))
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert set(parts) == {"train", "dev"}
    # Two series, a target each quarter of an hour of one day, five horizons.
    assert parts["dev"]["rows"] == pytest.approx(2 * 96 * 5, abs=60)
    assert 0.7 < parts["dev"]["inside_80"]["forecast"] < 0.9
    text = (tmp_path / "report.md").read_text("utf-8")
    assert all(
        name in text for name in ("## Part dev", "Holt-Winters", "Fourier", "same time last week")
    )
