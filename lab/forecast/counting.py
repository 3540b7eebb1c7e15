"""What a dataset's rows say before any model: base rates, censored and excluded rows.

Guarantee: every row is counted once at each horizon, as positive, negative, censored or excluded
(ended before, or uncertain); these sum to the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from lab.forecast.builds import Json
from lab.forecast.labels import CENSORED, NO_END, LabelChoice, label_name
from lab.traces.events import ENDS, MINUTE_US

COUNTED_ROWS = 500_000
ENDED_BEFORE = (pl.col("end_us") != NO_END) & (pl.col("end_us") < pl.col("time_us"))


def count_rows(choice: LabelChoice, frames: Iterable[pl.DataFrame]) -> Json:
    """Count over all frames; `ends` has, by segment, how attempts end within the main horizon."""
    pieces = [
        frame.lazy().group_by("segment").agg(list(_sums(choice))).collect() for frame in frames
    ]
    if not pieces:
        return {"rows": 0, "by_horizon": [], "ends": []}
    segments = pl.concat(pieces).group_by("segment").agg(pl.all().sum()).sort("segment")
    total = segments.sum().row(0, named=True)
    return {
        "rows": total["rows"],
        "by_horizon": [
            {
                "minutes": minutes,
                **{part: total[f"{part}_{minutes}"] for part in ("positives", "negatives")},
                "censored": total[f"censored_{minutes}"],
                "excluded_ended_before": total["ended_before"],
                "excluded_uncertain": total["uncertain"],
            }
            for minutes in choice.horizons
        ],
        "ends": [
            {
                "segment": row["segment"],
                "rows": row[f"positives_{main}"] + row[f"negatives_{main}"],
                **{kind.name: row[kind.name] for kind in ENDS},
            }
            for row in segments.iter_rows(named=True)
            for main in [choice.horizon_minutes]
        ],
    }


def count_file(choice: LabelChoice, anchors: Path) -> Json:
    """Count over a file of anchors."""
    return count_rows(choice, pl.scan_parquet(anchors).collect_batches(chunk_size=COUNTED_ROWS))


def _sums(choice: LabelChoice) -> Iterator[pl.Expr]:
    yield pl.len().cast(pl.Int64).alias("rows")
    uncertain = pl.col("uncertain") & ~ENDED_BEFORE
    yield _count(ENDED_BEFORE, "ended_before")
    yield _count(uncertain, "uncertain")
    for minutes in choice.horizons:
        cell = pl.col(label_name(minutes))
        yield _count(cell == 1, f"positives_{minutes}")
        yield _count(cell == 0, f"negatives_{minutes}")
        yield _count((cell == CENSORED) & ~ENDED_BEFORE & ~uncertain, f"censored_{minutes}")
    time, end = pl.col("time_us"), pl.col("end_us")
    inside = (end > time) & (end <= time + choice.horizon_minutes * MINUTE_US)
    known = pl.col(label_name(choice.horizon_minutes)) != CENSORED
    for kind in ENDS:
        yield _count(known & inside & (pl.col("end_kind") == kind.value), kind.name)


def _count(rows: pl.Expr, name: str) -> pl.Expr:
    return rows.sum().cast(pl.Int64).alias(name)
