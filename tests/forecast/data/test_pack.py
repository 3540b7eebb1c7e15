"""The pack's own files: its published base rates come out exactly.

The first 14 parts take too long for a test; `foresail forecast dataset --trace google2011 --input
PACK/google2011 --name x --features none` prints their 632,939 rows and 1.510 %.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from lab.forecast.dataset_build import DatasetPlan, build_dataset
from tests.forecast.pack import pack_file


def _ends(plan: DatasetPlan, folder: Path) -> dict[str, int]:
    manifest, _ = build_dataset(plan, folder, lambda _stage, _done, _all: None)
    ends: dict[str, int] = manifest["anchors"]["ends"][0]
    return ends


def test_the_published_base_rates_of_parts_15_to_17(tmp_path: Path) -> None:
    """191,428 SCHEDULE anchors with 1.40 % FAIL, 20.3 % EVICT, 16.6 % KILL and 24.4 % FINISH."""
    whole = pl.scan_parquet(pack_file("google2011/task_events.parquet"))
    part = tmp_path / "task_events.parquet"
    whole.filter(pl.col("part") >= 15).sink_parquet(part)

    ends = _ends(DatasetPlan("google2011", part, "x", feature_set="none"), tmp_path)

    shares = [round(100 * ends[kind] / ends["rows"], 3) for kind in ("FAIL", "EVICT", "KILL")]
    assert 191_428 == ends["rows"]
    assert [1.396, 20.330, 16.637] == shares
    assert 46_612 == ends["FINISH"]


def test_the_raw_form_says_what_the_parquet_says(tmp_path: Path) -> None:
    """The published CSV part and the pack's table hold the same events of the same rows."""
    raw = pack_file("google2011/raw_task_events_part-00001_head.csv.gz")
    table = pl.scan_parquet(pack_file("google2011/task_events.parquet"))
    given = tmp_path / "task_events.parquet"
    head = table.filter(pl.col("part") == 1).head(5_000)
    head.sink_parquet(given)
    for name, path in (("csv", raw), ("table", given)):
        _ends(DatasetPlan("google2011", path, name, feature_set="none"), tmp_path)
    columns = [
        "time_us",
        "kind",
        "job",
        "task",
        "machine",
        "cpu_request",
        "memory_request",
        "priority",
    ]

    from_csv = pl.read_parquet(tmp_path / "csv" / "events.parquet").select(columns)
    from_table = pl.read_parquet(tmp_path / "table" / "events.parquet").select(columns)

    shared = from_table.join(from_csv, on=columns, how="semi", nulls_equal=True)
    within = from_table.filter(pl.col("time_us") <= from_csv["time_us"].max())
    assert 0 < within.height == shared.height


def test_the_kaggle_sample_has_217_failures(tmp_path: Path) -> None:
    """By the official codes; the sample's own column says 364."""
    path = pack_file("google2019/kaggle_schema_sample.csv.gz")
    plan = DatasetPlan("kaggle2019", path, "x", feature_set="none")

    manifest, _ = build_dataset(plan, tmp_path, lambda _stage, _done, _all: None)

    assert 217 == manifest["events_by_kind"]["FAIL"]
    assert 324 == manifest["events_by_kind"]["SCHEDULE"]
