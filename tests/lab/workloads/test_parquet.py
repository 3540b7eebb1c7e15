"""Parquet workload files mean what CSV files mean, and are checked as strictly."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from bus.errors import InputError
from lab.workloads import convert
from lab.workloads.parquet import check_parquet
from lab.workloads.parquet import convert as to_lines
from tests.architecture.source_tree import ROOT
from twin.port.workloads import open_workload, plain_nodes, read_trace_file

EXAMPLE = ROOT / "examples" / "workload.csv"


def test_parquet_and_csv_mean_the_same(tmp_path: Path) -> None:
    """The example as parquet, through JSON Lines, plays as the CSV does."""
    table, lines = tmp_path / "w.parquet", tmp_path / "w.jsonl"
    assert convert.main([str(EXAMPLE), str(table)]) == 0
    content = to_lines(table, lines, plain_nodes(3))

    assert read_trace_file(lines)[:2] == read_trace_file(EXAMPLE)[:2]
    assert content.comments == ["from w.parquet"]


def test_every_form_converts_into_every_other(tmp_path: Path) -> None:
    """CSV to parquet to JSON Lines to CSV loses nothing."""
    chain = [EXAMPLE, tmp_path / "a.parquet", tmp_path / "b.jsonl", tmp_path / "c.csv"]
    for source, out in pairwise(chain):
        assert convert.main([str(source), str(out)]) == 0
    assert read_trace_file(chain[-1])[:2] == read_trace_file(EXAMPLE)[:2]


def test_bad_parquet_rows_are_counted_and_named(tmp_path: Path) -> None:
    """Rows are counted from 1; unknown columns and impossible requests are errors, too."""
    path = tmp_path / "w.parquet"
    pl.DataFrame(
        {
            "record": ["arrival"] * 3,
            "name": ["a", "b", "c"],
            "time_seconds": [0.0, -1.0, 2.0],
            "kind": ["task"] * 3,
            "cpu_request_millicores": [1000, 1000, 99_000],
            "memory_request_bytes": [2**30] * 3,
            "colour": ["red"] * 3,
        }
    ).write_parquet(path)
    _, errors = check_parquet(path, plain_nodes(2))

    assert [str(error).partition(" =")[0] for error in errors] == [
        "w.parquet column",
        "w.parquet row 2: time_seconds",
        "w.parquet row 3: cpu_request_millicores",
    ]


def test_what_is_no_parquet_is_an_input_error(tmp_path: Path) -> None:
    """Bytes that are no parquet give one line; the twin itself says how to convert."""
    path = tmp_path / "w.parquet"
    path.write_bytes(b"record,name\n")
    with pytest.raises(InputError, match="give a parquet file") as caught:
        to_lines(path, tmp_path / "w.jsonl", ())
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"lab\.workloads\.convert"):
        open_workload(str(path), nodes=2, seed=1)


@pytest.mark.parametrize(("source", "out"), [("w.txt", "w.csv"), ("w.csv", "w.txt")])
def test_unknown_suffixes_are_refused(
    tmp_path: Path, source: str, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A suffix that is not known gives exit code 2 and one line."""
    (tmp_path / source).write_bytes(EXAMPLE.read_bytes())
    assert convert.main([str(tmp_path / source), str(tmp_path / out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_bad_column_is_named(tmp_path: Path) -> None:
    """Unknown and missing columns are named as those of a CSV are."""
    pl.DataFrame({"nmae": ["a"]}).write_parquet(tmp_path / "w.parquet")
    _, errors = check_parquet(tmp_path / "w.parquet", ())
    assert [
        "w.parquet column = nmae: did you mean name?",
        "w.parquet column record = (missing): add it: it says of each row what it is, such as node",
    ] == [str(error) for error in errors[:2]]
