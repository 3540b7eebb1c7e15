"""`foresail forecast rates`: equal bytes for equal tables, only the named part is learnt from, and the model helps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from foresail.__main__ import main
from services.inference.rate_model import SHIPPED, RateModel
from tests.forecast.rates.made import rows, write

CUT = 864_000 + 4 * 86_400


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of two parts; the later one is of another size."""
    folder = tmp_path_factory.mktemp("rates")
    split = pl.when(pl.col("t_s") < CUT).then(pl.lit("train")).otherwise(pl.lit("dev"))
    write(folder, rows(days=6, step=600).with_columns(split=split))
    return folder


def train(place: Path, monkeypatch: pytest.MonkeyPatch, table: Path, name: str) -> dict[str, bytes]:
    """Train a small model and return its files."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(place / name))
    assert (
        main(["forecast", "rates", "--rates", str(table), "--name", "mine", "--rounds", "12"]) == 0
    )
    return {path.name: path.read_bytes() for path in (place / name / "models" / "mine").iterdir()}


def test_equal_tables_give_equal_bytes_and_other_parts_are_not_read(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs agree byte for byte; rows of another part may be anything."""
    table = place / "rates.parquet"
    first = train(place, monkeypatch, table, "first")
    assert train(place, monkeypatch, table, "second") == first
    assert len([name for name in first if name.endswith(".ubj")]) == 5
    changed = pl.read_parquet(table).with_columns(
        value=pl.when(pl.col("split") == "dev")
        .then(pl.col("value") * 9 + 1)
        .otherwise(pl.col("value"))
    )
    (place / "changed").mkdir()
    again = train(place, monkeypatch, write(place / "changed", changed), "third")
    assert {name: again[name] for name in again if name.endswith(".ubj")} == {
        name: first[name] for name in first if name.endswith(".ubj")
    }
    capsys.readouterr()
    assert main(["forecast", "backtest", "--rates", str(table), "--model", "mine", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["model_id"].startswith("mine/")
    assert found["silent_origins"] == {"history too short": 2 * 12}
    assert found["parts"]["dev"]["by_model"] == 1.0


def test_the_shipped_model_says_who_spoke_and_beats_the_rules(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --model the shipped one is used: its id stands where it had a say, and it loses less than the rules."""
    out = place / "out.parquet"
    capsys.readouterr()
    table = str(place / "rates.parquet")
    assert (
        main(["forecast", "backtest", "--rates", table, "--predictions", str(out), "--json"]) == 0
    )
    ratios = json.loads(capsys.readouterr().out)["parts"]["dev"]["ratios"]
    # The made days are one pure wave: what a Fourier rule says of them nobody can say better.
    assert ratios.pop("fourier") < 1.15
    assert max(ratios.values()) < 1.0
    by_origin = (
        pl.read_parquet(out).group_by("model").agg(pl.col("origin_s").max()).sort("origin_s")
    )
    assert by_origin["model"][-1] == RateModel(SHIPPED).model_id
    assert by_origin["origin_s"][0] < 864_000 + 3 * 3600


def test_a_table_may_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is left out is not learnt from; a name that is no table's is refused with those that are."""
    monkeypatch.setenv("BORG_XGBOOST_WORKSPACE", str(tmp_path))
    for name in ("one", "two"):
        write(tmp_path, rows(days=2, step=600), name)
    command = ["forecast", "rates", "--input", str(tmp_path), "--rounds", "2", "--without"]
    assert main([*command, "two"]) == 0
    manifest = json.loads((tmp_path / "models" / SHIPPED / "manifest.json").read_text())
    assert manifest["data"]["dataset"] == "one"
    capsys.readouterr()
    assert main([*command, "three"]) == 2
    assert "--without = three: give one of one, two" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("forecast", "rates"), "--rates = nothing"),
        (("forecast", "rates", "--rates", "x.parquet", "--rounds", "0"), "--rounds = 0"),
        (("forecast", "rates", "--rates", "x.parquet", "--name", "my_own"), "--name = my_own"),
        (("forecast", "backtest", "--rates", "x.parquet", "--model", "small-risk"), "feature"),
        (("forecast", "backtest", "--rates", "x.parquet", "--model", "nobody"), "model = nobody"),
        (
            ("forecast", "backtest", "--rates", "x.parquet", "--predictions", "no/o.parquet"),
            "--predictions = no",
        ),
        (("forecast", "backtest", "--rates", "x.parquet", "--report", "/"), "--report = /"),
    ],
)
def test_wrong_arguments_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    """Nothing to learn from, no rounds, and a model of another kind or of no name are refused."""
    assert main(list(arguments)) == 2
    error = capsys.readouterr().err.strip()
    assert words in error
    assert "\n" not in error
