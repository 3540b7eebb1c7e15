"""A small folder of demand files in the pack's form, generated."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl


def wave(windows: int, seed: int) -> np.ndarray:
    """Return usage with a daily wave, jumps and noise, above 0."""
    random = np.random.Generator(np.random.PCG64(seed))
    day = 1.0 + 0.5 * np.sin(np.arange(windows) * 2 * math.pi / 288 + seed)
    level = np.repeat(random.gamma(6.0, 1 / 6, size=windows // 48 + 1), 48)[:windows]
    return day * level * random.gamma(40.0, 1 / 40, size=windows)


def write_cell(folder: Path, windows: int = 900) -> None:
    """Write one cell of 2019 under `folder`."""
    (folder / "demand").mkdir(parents=True, exist_ok=True)
    pl.DataFrame(
        {
            "step": np.arange(windows, dtype=np.int32),
            "avg_cpu": wave(windows, 1),
            "avg_mem": wave(windows, 2),
        }
    ).write_parquet(folder / "demand" / "google2019_cell_usage_5min.parquet")


def write_job_days(folder: Path, jobs: int = 10, days: int = 7) -> None:
    """Write job-days of 2011 under `folder`; every third job misses its third day."""
    (folder / "demand").mkdir(parents=True, exist_ok=True)
    tables = []
    for job in range(jobs):
        kept = [day for day in range(1, days + 1) if job % 3 or day != 3]
        usage = wave(288 * days, 10 + job)
        tables += [
            pl.DataFrame(
                {
                    "job_id": np.full(288, job),
                    "day": np.full(288, day, dtype=np.int16),
                    "step": np.arange(288, dtype=np.int16),
                    "cpu_pct": (10 * usage[288 * (day - 1) : 288 * day]).astype(np.float32),
                    "mem_pct": (5 + usage[288 * (day - 1) : 288 * day]).astype(np.float32),
                }
            )
            for day in kept
        ]
    path = folder / "demand" / "google2011_job_day_usage_5min.parquet"
    pl.concat(tables).write_parquet(path)
