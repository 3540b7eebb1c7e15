"""Tables of demand from what one has: a recording, windows in the common schema, or a table of rates.

Each becomes `series, t_s, value, split` in a file of its own, which training, diagnosis and backtest read. Rows before
a share of the table's time are of part `train`, the others of part `later`; a table that names its parts keeps them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bus.errors import InputError
from features.live.followed_history import (
    FollowedHistory,
    after_block,
    after_filling,
    after_observation,
    after_usage,
)
from lab.forecast.rates.learning_rows import TRAIN
from lab.forecast.rates.table import SPLIT, RateTable, read_table
from lab.forecast.workspace import PARTIAL
from lab.traces.cloud_neutral import READER
from lab.traces.repair import RepairLog
from schemas.envelope import Event
from schemas.history import HistoryBlock, HistoryFilled
from schemas.observation import Observation
from schemas.snapshot import SnapshotUsage
from schemas.view import ObservationView, update_view

LATER = "later"
"""Part of the rows that are not learnt from."""
MICROSECONDS = 1_000_000


def of_recording(events: Iterable[Event[Any]]) -> pl.DataFrame:
    """Return the history of a recording, in steps of five minutes, as live inference follows it.

    Requests of Services, CPU and memory of workloads and cores requested, at most the newest fourteen days, with what
    was filled in at the start.
    """
    followed, view = FollowedHistory(), None
    for event in events:
        followed, view = _after(followed, view, event)
    history = followed.history
    if not history.ids:
        return pl.DataFrame(schema={"series": pl.String, "t_s": pl.Int64, "value": pl.Float64})
    past = history.pasts(history.ids)
    place, step = np.nonzero(~np.isnan(past.values))
    return pl.DataFrame(
        {
            "series": [history.ids[one] for one in place],
            "t_s": past.times[step],
            "value": past.values[place, step],
        }
    )


def _after(
    followed: FollowedHistory, view: ObservationView | None, event: Event[Any]
) -> tuple[FollowedHistory, ObservationView | None]:
    match event.data:
        case SnapshotUsage() as usage:
            return after_usage(followed, usage), view
        case HistoryFilled() as filled:
            return after_filling(followed, filled), view
        case HistoryBlock() as block:
            return after_block(followed, block), view
        case Observation():
            newer = update_view(view, event)
            return (followed if newer is None else after_observation(followed, newer)), newer
    return followed, view


def of_windows(path: Path) -> pl.DataFrame:
    """Return use by workload of windows in the common schema: `cpu/...` and `memory/...` of all its instances.

    A window counts for the step in which it begins, by the share of the step that it lasts; a step is as long as
    most windows are.

    Raises:
        InputError: the file is not there, a row is bad, or no window says what was used.
    """
    if not path.exists():
        raise InputError("--windows", path, "name a file or folder that exists")
    assert READER.windows is not None
    columns = ("start_us", "time_us", "job", "cpu_mean", "memory_mean")
    frames = [
        frame.select(columns)
        for frame in READER.windows(READER.find(path), RepairLog(repair=False))
    ]
    windows = pl.concat(frames) if frames else pl.DataFrame(schema=dict.fromkeys(columns, pl.Int64))
    length = pl.col("time_us") - pl.col("start_us")
    step = windows.select(length.mode().min()).item() if windows.height else None
    long = windows.with_columns((length / (step or 1)).alias("share")).unpivot(
        on=["cpu_mean", "memory_mean"], index=["start_us", "job", "share"], variable_name="what"
    )
    known = long.filter(pl.col("value").is_finite())
    if not known.height:
        raise InputError(
            "--windows", path, "it has no observed_cpu_avg and no observed_mem_avg to learn from"
        )
    assert isinstance(step, int)
    begin = pl.col("start_us") // step * step // MICROSECONDS
    return (
        known.with_columns(
            pl.format("{}/{}", pl.col("what").str.strip_suffix("_mean"), "job").alias("series"),
            begin.alias("t_s"),
            (pl.col("value").cast(pl.Float64) * pl.col("share")).alias("amount"),
        )
        .group_by("series", "t_s")
        .agg(pl.col("amount").sum().alias("value"))
        .sort("series", "t_s")
    )


def by_kind(name: str, frame: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield a table for each kind of series, the word before the first `/`: requests, cores and bytes do not add up.

    A frame without rows is yielded as it is, so that it is refused by name.
    """
    if not frame.height:
        yield name, frame
        return
    kind = pl.col("series").str.split("/").list.first()
    for word in sorted(frame.select(kind.unique()).to_series()):
        yield f"{name}-{word}", frame.filter(kind == word)


def of_rates(path: Path) -> pl.DataFrame:
    """Return a table of rates as it is.

    Raises:
        InputError: it makes no series of rates.
    """
    RateTable(path)
    return read_table(path)


def write_table(frame: pl.DataFrame, path: Path, train_share: float) -> RateTable:
    """Write a table with its parts, whole or not at all, and return it as it is read.

    Raises:
        InputError: it has no rows, or makes no series of rates.
    """
    if not frame.height:
        raise InputError(
            path.stem, "no demand", "give a source in which somebody was counted or measured"
        )
    if SPLIT not in frame.columns:
        times = pl.col("t_s")
        first, last = frame.select(times.min().alias("first"), times.max().alias("last")).row(0)
        cut = first + (last - first) * train_share
        part = pl.when(times <= cut).then(pl.lit(TRAIN)).otherwise(pl.lit(LATER))
        frame = frame.with_columns(part.alias(SPLIT))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + PARTIAL)
    frame.write_parquet(partial)
    partial.replace(path)
    return RateTable(path)
