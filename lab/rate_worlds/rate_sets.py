"""Published request rates, as courses that can be asked for any minute.

A set has steps of one minute to an hour. Between the middles of longer steps the rate runs straight, since a
staircase would give every controller a jump that never was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bus.errors import InputError

MINUTE = 60
DAY = 86_400
Floats = NDArray[np.float64]
SETS = {
    "worldcup98": "worldcup98_1min.parquet",
    "clarknet": "clarknet_1min.parquet",
    "wikipedia": "wikipedia_hourly.parquet",
    "servegen": "servegen_llm_10min.parquet",
    "crane": "crane_metrics_1min.parquet",
    "nab": "nab_rates_5min.parquet",
}
"""File of each set in the folder `traffic` of the data; none of them is shipped."""


@dataclass(frozen=True, slots=True, eq=False)
class RateCourse:
    """One series of a set on its regular grid."""

    name: str
    begin_seconds: int
    """Of the first step, as the set counts."""
    step_seconds: int
    values: Floats
    """Mean of each step in the set's unit, NaN where nothing was measured."""
    held_out_seconds: float
    """From here on nobody trained on it; infinity where the whole series was trained on."""

    @property
    def end_seconds(self) -> int:
        """Where the last step ends."""
        return self.begin_seconds + self.step_seconds * len(self.values)

    def minutes(self, begin_seconds: int, count: int) -> Floats:
        """Return the rates of so many minutes from a moment on, holes bridged by a straight line."""
        middles = self.begin_seconds + (np.arange(len(self.values)) + 0.5) * self.step_seconds
        known = np.isfinite(self.values)
        asked = begin_seconds + (np.arange(count) + 0.5) * MINUTE
        return np.asarray(np.interp(asked, middles[known], self.values[known]))

    def known_minutes(self, begin_seconds: int, count: int) -> NDArray[np.bool_]:
        """Return which of so many minutes lie in a step that was measured."""
        at = begin_seconds + np.arange(count) * MINUTE
        steps = (at - self.begin_seconds) // self.step_seconds
        inside = (steps >= 0) & (steps < len(self.values))
        known = np.isfinite(self.values)
        return np.asarray(inside & known[np.clip(steps, 0, len(self.values) - 1)])


def read_set(folder: Path, name: str) -> tuple[RateCourse, ...]:
    """Return every series of a set, by name.

    Args:
        folder: of the data; the sets are in its folder `traffic`.
        name: a key of `SETS`.

    Raises:
        InputError: the file is not there, or has other columns.
    """
    path = folder / "traffic" / SETS[name]
    try:
        table = pl.read_parquet(path)
        unit = "value" if "value" in table.columns else "requests_per_min"
        table = table.select("series", "t_s", "split", pl.col(unit).cast(pl.Float64).alias("value"))
    except (OSError, pl.exceptions.PolarsError) as error:
        remedy = "name the folder with the published request rates by FORESAIL_DATA"
        raise InputError(f"rates of {name}", path.name, remedy) from error
    return tuple(
        _course(str(key[0]), rows)
        for key, rows in sorted(table.partition_by("series", as_dict=True).items())
    )


def _course(name: str, rows: pl.DataFrame) -> RateCourse:
    rows = rows.filter(pl.col("split") != "test").sort("t_s")
    times = rows["t_s"].to_numpy()
    step = int(np.diff(times).min())
    values = np.full(int((times[-1] - times[0]) // step) + 1, np.nan)
    values[(times - times[0]) // step] = rows["value"].fill_null(np.nan).to_numpy()
    held_out = rows.filter(pl.col("split") == "dev")["t_s"]
    first = float(held_out.to_numpy().min()) if len(held_out) else np.inf
    return RateCourse(name, int(times[0]), step, values, first)


def hourly_autocorrelation(course: RateCourse, hours: int) -> float:
    """Return how alike hourly means are to those so many hours before, -1 to 1; NaN for a constant series."""
    count = (course.end_seconds - course.begin_seconds) // 3_600
    means = course.minutes(course.begin_seconds, 60 * count).reshape(count, 60).mean(axis=1)
    if np.ptp(means) == 0.0:
        return float("nan")
    return float(np.corrcoef(means[hours:], means[:-hours])[0, 1])
