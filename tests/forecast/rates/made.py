"""Tables of rates with a daily shape, generated."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl


def daily(days: float, step: int, level: float, seed: int) -> np.ndarray:
    """Return counts with a daily wave and the noise of counts."""
    random = np.random.Generator(np.random.PCG64(seed))
    time = np.arange(int(days * 86_400 / step)) * step
    return random.poisson(level * (1.2 + np.sin(2 * math.pi * time / 86_400))).astype(float)


def rows(
    days: float = 4, step: int = 900, series: int = 2, level: float = 200.0, start: int = 864_000
) -> pl.DataFrame:
    """Return a clean table, `series` named a, b, ..."""
    tables = []
    for number in range(series):
        values = daily(days, step, level * (number + 1), number + 1)
        times = start + np.arange(len(values)) * step
        name = "abcdefgh"[number]
        tables.append(pl.DataFrame({"series": [name] * len(values), "t_s": times, "value": values}))
    return pl.concat(tables)


def write(folder: Path, table: pl.DataFrame, name: str = "rates") -> Path:
    """Write a table and return its file."""
    path = folder / f"{name}.parquet"
    table.write_parquet(path)
    return path
