"""A table of rates, parquet or CSV, as series on a regular grid.

Wanted columns: `series`, `t_s` (begin of the step: seconds, or a date with its time, UTC where no zone is named) and
`value` or `requests_per_min`; `split` may name the part a row belongs to, any other column is left alone. One step
for the whole table; it may begin anywhere.

Repairs, each counted in `Repairs` and told with the report: rows out of order are sorted, rows of the same step are
averaged, times off the grid are put into the step that holds them, numbers that are no finite ones are missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bus.errors import InputError
from features.demand.past import HORIZONS_SECONDS
from features.series.quantiles import Floats

VALUE_COLUMNS = ("value", "requests_per_min")
LONGEST_STEP = max(HORIZONS_SECONDS)
MOST_OFF_GRID = 0.2
MOST_STEPS = 5_000_000
"""Of one series: seventy days of seconds, nine years of minutes."""
MILLISECONDS_FROM = 1e11
HIGHEST_VALUE = 1e30
"""Bands are kept in four bytes."""
SPLIT = "split"
CSV_SUFFIXES = (".csv", ".csv.gz")


@dataclass(frozen=True)
class Repairs:
    """Deviations, in rows."""

    unsorted: bool
    same_step: int
    off_grid: int
    missing: int
    gaps: int

    def sentences(self) -> list[str]:
        """Return what was done, in words."""
        told = {
            "rows of a step that had one already: averaged": self.same_step,
            "rows off the grid: put into the step that holds them": self.off_grid,
            "rows without a finite number: missing": self.missing,
            "steps without a row: missing": self.gaps,
        }
        words = [f"{count:,} {text}" for text, count in told.items() if count]
        return ["rows out of order: sorted", *words] if self.unsorted else words


@dataclass(frozen=True)
class RateSeries:
    """One series: `values` (n,) from `start_s` on, NaN where missing; `split` (n,) codes into `RateTable.splits`."""

    name: Any
    start_s: int
    values: Floats
    split: NDArray[np.int16]


class RateTable:
    """A checked table; series are put on their grid one after another, so that memory stays small."""

    def __init__(self, path: Path, column: str | None = None) -> None:
        """Read and check.

        Raises:
            InputError: the file, a column or its content makes no series of rates.
        """
        raw = read_table(path)
        names = raw.columns
        _want(path, names, ("series", "t_s"))
        self.column = _value_column(path, names, column)
        _check_types(path, raw, self.column)
        kept = ["series", "t_s", self.column, *([SPLIT] if SPLIT in names else [])]
        rows = raw.select(kept).rename({self.column: "value"})
        if rows["series"].null_count() or rows["t_s"].null_count():
            raise InputError(
                f"{path.name} series, t_s", "null", "give every row a series and a time"
            )
        self.series_type = rows.schema["series"]
        rows = rows.with_columns(pl.col("value").cast(pl.Float64), _seconds(path, rows))
        if not rows.height:
            raise InputError("--rates", path.name, "it has no rows")
        _check_numbers(path, rows)
        self._sorted = rows.sort("series", "t_s", maintain_order=True)
        unsorted = not self._sorted["t_s"].equals(rows["t_s"])
        self.step_seconds = _step(path, self._sorted)
        self.splits: list[str] = (
            sorted(rows[SPLIT].cast(pl.String).fill_null("").unique()) if SPLIT in names else [""]
        )
        self.name = path.stem
        self.names: list[Any] = self._sorted["series"].unique(maintain_order=True).to_list()
        self.repairs = self._count_repairs(unsorted)

    def __iter__(self) -> Iterator[RateSeries]:
        """Yield each series, in the order of their names."""
        for (name,), rows in self._sorted.group_by("series", maintain_order=True):
            yield self._series(name, rows)

    def _series(self, name: Any, rows: pl.DataFrame) -> RateSeries:
        times, values = rows["t_s"].to_numpy(), rows["value"].fill_null(np.nan).to_numpy()
        start = _phase(times, self.step_seconds)
        places = (times - start) // self.step_seconds
        length = int(places[-1]) + 1
        known = np.isfinite(values)
        total = np.bincount(places[known], values[known], length)
        count = np.bincount(places[known], minlength=length)
        grid = np.where(count > 0, total / np.maximum(count, 1), np.nan)
        split = np.zeros(length, dtype=np.int16)
        if SPLIT in rows.columns:
            named = rows[SPLIT].cast(pl.String).fill_null("").to_list()
            split[places] = [self.splits.index(one) for one in named]
        return RateSeries(name, start, grid, split)

    def _count_repairs(self, unsorted: bool) -> Repairs:
        step = self.step_seconds
        same = off = gaps = 0
        for _, rows in self._sorted.group_by("series", maintain_order=True):
            times = rows["t_s"].to_numpy()
            start = _phase(times, step)
            places = (times - start) // step
            off += int(((times - start) % step != 0).sum())
            kept = len(np.unique(places))
            same += len(places) - kept
            gaps += int(places[-1]) + 1 - kept
            if places[-1] >= MOST_STEPS:
                remedy = f"keep a series to {MOST_STEPS:,} steps of {step} s"
                raise InputError(f"{self.name} t_s", f"{times[0]} to {times[-1]}", remedy)
        if off > MOST_OFF_GRID * self._sorted.height:
            remedy = f"resample to one step; {off:,} of {self._sorted.height:,} rows are off a grid of {step} s"
            raise InputError(f"{self.name} t_s", "irregular", remedy)
        finite = self._sorted["value"].is_finite().fill_null(value=False)
        return Repairs(unsorted, same, off, int((~finite).sum()), gaps)


def read_table(path: Path) -> pl.DataFrame:
    """Return the rows of a parquet table, or of the CSV that `forecast history` writes.

    Raises:
        InputError: it cannot be read.
    """
    try:
        if path.name.endswith(CSV_SUFFIXES):
            return pl.read_csv(path, comment_prefix="#", infer_schema_length=None)
        return pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["unreadable"])[0]
        raise InputError("--rates", path.name, f"give a parquet or CSV file ({reason})") from error


def _want(path: Path, names: list[str], wanted: tuple[str, ...]) -> None:
    for name in wanted:
        if name not in names:
            raise InputError(f"{path.name} column {name}", "missing", f"it has {', '.join(names)}")


def _value_column(path: Path, names: list[str], asked: str | None) -> str:
    if asked is not None:
        _want(path, names, (asked,))
        return asked
    for name in VALUE_COLUMNS:
        if name in names:
            return name
    remedy = f"it has {', '.join(names)}; name the one to foretell with --value"
    raise InputError(f"{path.name} column value", "missing", remedy)


def _check_types(path: Path, raw: pl.DataFrame, column: str) -> None:
    times = raw.schema["t_s"]
    if not times.is_numeric() and times != pl.Datetime:
        raise InputError(f"{path.name} t_s", str(times), "give seconds, or dates with their time")
    values = raw.schema[column]
    if not values.is_numeric():
        raise InputError(f"{path.name} {column}", str(values), "give numbers")


def _seconds(path: Path, rows: pl.DataFrame) -> pl.Expr:
    kind = rows.schema["t_s"]
    if kind == pl.Datetime:
        return pl.col("t_s").dt.epoch("s")
    if not kind.is_integer() and not rows["t_s"].cast(pl.Float64).is_finite().all():
        raise InputError(f"{path.name} t_s", "no finite number", "give seconds")
    return pl.col("t_s").cast(pl.Float64).floor().cast(pl.Int64)


def _check_numbers(path: Path, rows: pl.DataFrame) -> None:
    lowest = rows["value"].filter(rows["value"].is_finite()).min()
    if isinstance(lowest, float) and lowest < 0:
        first = rows.filter(pl.col("value") < 0).row(0, named=True)
        where = f"{path.name} value of {first['series']} at {first['t_s']}"
        raise InputError(where, first["value"], "rates are 0 or more; leave out what is not known")
    highest = rows["value"].filter(rows["value"].is_finite()).max()
    if isinstance(highest, float) and highest > HIGHEST_VALUE:
        raise InputError(f"{path.name} value", highest, f"give a unit of at most {HIGHEST_VALUE:g}")
    latest = rows["t_s"].max()
    if isinstance(latest, int) and latest > MILLISECONDS_FROM:
        raise InputError(f"{path.name} t_s", latest, "give seconds, not milliseconds")


def _step(path: Path, rows: pl.DataFrame) -> int:
    """Return the most common distance of neighbouring rows, over all series."""
    apart = rows.select(pl.col("t_s").diff().over("series")).to_series().drop_nulls()
    counted = (
        apart.filter(apart > 0).value_counts().sort(["count", "t_s"], descending=[True, False])
    )
    if not counted.height:
        raise InputError(f"{path.name} t_s", "one row a series", "give series of two steps or more")
    step = int(counted["t_s"][0])
    if step > LONGEST_STEP:
        remedy = f"give steps of {LONGEST_STEP} s or less: the longest horizon is an hour"
        raise InputError(f"{path.name} step", f"{step} s", remedy)
    whole = int(counted.filter(pl.col("t_s") % step == 0)["count"].sum())
    share = whole / int(counted["count"].sum())
    if share < 1 - MOST_OFF_GRID:
        remedy = f"resample to one step; only {share:.0%} of rows follow the one before by whole steps of {step} s"
        raise InputError(f"{path.name} t_s", "irregular", remedy)
    return step


def _phase(times: NDArray[np.int64], step: int) -> int:
    """Return where a series' grid begins: at its first row, moved to where most rows lie on it."""
    phases, counts = np.unique(times % step, return_counts=True)
    phase = int(phases[int(np.argmax(counts))])
    return (int(times[0]) - phase) // step * step + phase
