"""Reading the pack's series, with its pitfalls."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from bus.errors import InputError
from lab.forecast.demand.pack import (
    absent_files,
    instances,
    job_days,
    large_job,
    read_file,
    solvinity,
    window_means,
)
from lab.forecast.demand.series import TRAIN_SHARE, on_grid, owner_place
from tests.forecast.demand.made import write_cell, write_job_days

MINUTE_MS = 60_000
JOB_DAYS = "demand/google2011_job_day_usage_5min.parquet"


def test_missing_windows_are_holes() -> None:
    """A window that nobody measured is NaN, and of two values in one window the first counts."""
    first, grid = on_grid(np.array([5, 6, 6, 9]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert first == 5
    assert grid.tolist()[:2] == [1.0, 2.0]
    assert np.isnan(grid[2:4]).all()
    assert grid[4] == 4.0


def test_fragments_become_window_means() -> None:
    """Fragments are spread over windows by time; a window known for less than half is a hole."""
    durations = np.array([5, 10, 2, 3, 1, 4]) * MINUTE_MS
    usage = np.array([2.0, 4.0, math.nan, 10.0, 6.0, math.nan])
    actual = window_means(durations, usage)
    assert actual[:4].tolist() == [2.0, 4.0, 4.0, 10.0]
    assert math.isnan(actual[4])


def test_a_day_that_is_missing_ends_a_run(tmp_path: Path) -> None:
    """A job's unbroken runs of days are series of their own, of one owner."""
    write_job_days(tmp_path, jobs=1, days=5)
    cpu, memory = job_days(tmp_path / JOB_DAYS)
    assert [(one.first_step, len(one.values)) for one in cpu.series] == [(0, 576), (864, 576)]
    assert {one.owner for one in cpu.series} == {"0"}
    assert (cpu.signal, memory.signal, cpu.split_step) == ("cpu", "memory", 6 * 288)


def test_doubled_windows_are_halved_and_zeros_missing(tmp_path: Path) -> None:
    """Windows with two records per task count once; windows of zeros are holes."""
    count = 100
    tasks, cpu = np.full(count, 3090.0), np.full(count, 2.0)
    tasks[7], cpu[7] = 6400.0, 4.0
    tasks[9], cpu[9] = 0.0, 0.0
    path = tmp_path / "job.parquet"
    pl.DataFrame(
        {
            "time_s": np.arange(count) * 300.0 + 600,
            "n_tasks": tasks,
            "mean_cpu": cpu,
            "canonical_mem": cpu,
        }
    ).write_parquet(path)
    series = large_job(path)[0].series[0]
    assert series.values[7] == 2.0
    assert math.isnan(series.values[9])
    assert large_job(path)[0].notes == ("1 doubled windows halved, 1 zero missing",)


def test_windows_off_the_grid_are_left_out(tmp_path: Path) -> None:
    """An instance's first and last windows, which end between two grid points, do not count."""
    path = tmp_path / "instances.parquet"
    pl.DataFrame(
        {
            "time": [461_545_000_000, 461_700_000_000, 462_000_000_000, 462_600_000_000],
            "unique_id": ["1-2"] * 4,
            "avg_cpu_usage": [9.0, 1.0, 0.0, 3.0],
            "avg_memory_usage": [9.0, 1.0, 2.0, 3.0],
        }
    ).write_parquet(path)
    cpu = instances(path)[0]
    assert cpu.series[0].first_step == 1539
    assert cpu.series[0].values[0] == 1.0
    assert np.isnan(cpu.series[0].values[1:3]).all()
    assert cpu.notes == ("1 odd and 1 zero windows left out",)


def test_long_fragments_and_fragments_without_cores_are_holes(tmp_path: Path) -> None:
    """A machine that reports one value for days was not measured."""
    path = tmp_path / "solvinity13_fragments.parquet"
    pl.DataFrame(
        {
            "id": ["a"] * 4,
            "duration": [40 * 5 * MINUTE_MS, 5 * MINUTE_MS, 5 * MINUTE_MS, 5 * MINUTE_MS],
            "cpu_count": [2, 2, 0, 2],
            "cpu_usage": [5.0, 7.0, 8.0, 9.0],
        }
    ).write_parquet(path)
    pl.DataFrame(
        {
            "id": ["a"],
            "submission_time": [datetime(2013, 8, 12)],  # noqa: DTZ001
            "cpu_capacity": [100.0],
        }
    ).with_columns(pl.col("submission_time").cast(pl.Datetime("ms"))).write_parquet(
        tmp_path / "solvinity13_tasks.parquet"
    )
    series = solvinity(path)[0].series[0]
    assert np.isnan(series.values[:40]).all()
    assert series.values[40] == 7.0
    assert math.isnan(series.values[41])
    assert series.capacity == 100.0


def test_the_share_of_training_owners_is_what_it_says() -> None:
    """About 60 % of names are learned from, and a name's place never changes."""
    places = [owner_place(str(number)) for number in range(2000)]
    assert abs(np.mean(np.array(places) < TRAIN_SHARE) - TRAIN_SHARE) < 0.03
    assert owner_place("3418309") == owner_place("3418309")


def test_bad_input_is_named(tmp_path: Path) -> None:
    """An empty folder, a file that is no parquet and one without a column are one clear line."""
    with pytest.raises(InputError, match="it holds none of"):
        absent_files(tmp_path)
    write_cell(tmp_path, 60)
    assert JOB_DAYS in absent_files(tmp_path)
    assert read_file(tmp_path, JOB_DAYS) == []
    (tmp_path / JOB_DAYS).write_text("no parquet")
    with pytest.raises(InputError, match="google2011_job_day_usage_5min"):
        read_file(tmp_path, JOB_DAYS)
    pl.DataFrame({"job_id": [1], "day": [1]}).write_parquet(tmp_path / JOB_DAYS)
    with pytest.raises(InputError, match="step"):
        read_file(tmp_path, JOB_DAYS)
