"""Tables of history in parquet become the CSV that the collector reads, or are refused in one line."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from bus.errors import ConfigError
from lab.workloads.history import write_history_csv
from services.collector.history_table import read_history_file


def test_integers_floats_and_holes_survive(tmp_path: Path) -> None:
    """In any order of columns; a row without a value says nothing."""
    table = {"value": [3.5, None, 4.0], "series": ["service/a/b"] * 3, "t_s": [-900, -600, -300]}
    pl.DataFrame(table).write_parquet(tmp_path / "past.parquet")

    write_history_csv(tmp_path / "past.parquet", tmp_path / "past.csv")

    points = read_history_file(str(tmp_path / "past.csv"))
    assert points == {"service/a/b": [(-900.0, 3.5), (-300.0, 4.0)]}


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Columns are named; a file that is no parquet, or is not there, is called so."""
    out = tmp_path / "past.csv"
    pl.DataFrame({"series": ["a/b"], "t": [1]}).write_parquet(tmp_path / "rates.parquet")
    with pytest.raises(ConfigError, match="columns = series, t: give series, t_s, value"):
        write_history_csv(tmp_path / "rates.parquet", out)
    (tmp_path / "none.parquet").write_text("series,t_s,value\n")
    with pytest.raises(ConfigError, match="give a table in parquet"):
        write_history_csv(tmp_path / "none.parquet", out)
    with pytest.raises(ConfigError, match="give a readable file"):
        write_history_csv(tmp_path / "absent.parquet", out)
    assert not out.exists()
