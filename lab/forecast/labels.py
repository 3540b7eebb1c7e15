"""Outcome of each attempt, and whether that is the failure to be predicted.

Guarantee: an attempt's end is the next EVICT, FAIL, FINISH, KILL or LOST of the same task in the same
segment, strictly later in the order of events; a label looks only at (decision, decision + horizon],
and a row whose window reaches past the end of its segment is censored, never negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from features.history import Kind
from lab.traces.events import ENDS, HORIZON_MINUTES, MINUTE_US

CENSORED = -1
NO_END = -1
_TASK = ("segment", "job", "task")


@dataclass(frozen=True)
class LabelChoice:
    """The label."""

    failures: tuple[Kind, ...] = (Kind.FAIL,)
    """The ends that count as failure."""
    horizon_minutes: int = 15
    """The horizon that reports are about; every one of `horizons` has a column."""

    @property
    def horizons(self) -> tuple[int, ...]:
        """Minutes of every label column."""
        return tuple(sorted({*HORIZON_MINUTES, self.horizon_minutes}))


def label_name(minutes: int) -> str:
    """Return the column of a horizon."""
    return f"label_{minutes}m"


def label(
    choice: LabelChoice, minutes: int, segment_ends: Mapping[int, int], decision: str = "time_us"
) -> pl.Expr:
    """Return the label of rows with a decision time, `end_kind`, `end_us`, `uncertain`, `segment`.

    1: the attempt ends as a failure within the horizon; 0: it does not; -1: nobody can know (the
    segment ends first, or somebody influenced the outcome), or the end lies before the decision.
    """
    time, end = pl.col(decision), pl.col("end_us")
    horizon_us = minutes * MINUTE_US
    known = pl.col("segment").replace_strict(dict(segment_ends), return_dtype=pl.Int64)
    ended_before = (end != NO_END) & (end < time)
    fails = pl.col("end_kind").is_in(choice.failures) & (end > time) & (end <= time + horizon_us)
    return (
        pl.when((time > known - horizon_us) | ended_before | pl.col("uncertain"))
        .then(CENSORED)
        .otherwise(fails.cast(pl.Int8))
        .cast(pl.Int8)
        .alias(label_name(minutes))
    )


def with_ends(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Take frames of events from the last to the first; yield each with `end_kind`, `end_us`.

    Only the next end of each task is kept from frame to frame.
    """
    later = pl.DataFrame(
        schema={
            "segment": pl.Int16,
            "job": pl.Int64,
            "task": pl.Int32,
            "end_kind": pl.Int8,
            "end_us": pl.Int64,
        }
    )
    for frame in frames:
        numbered = frame.with_row_index("_at")
        line = pl.concat([_marks(numbered), _carry_ends(numbered, later)]).sort(*_TASK, "_at")
        same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(-1) for name in _TASK)
        first = line.filter(pl.col("is_end")).unique(_TASK, keep="first", maintain_order=True)
        later = pl.concat(
            [
                later.join(first.select(_TASK), on=_TASK, how="anti"),
                first.select(
                    *_TASK, pl.col("kind").alias("end_kind"), pl.col("time_us").alias("end_us")
                ),
            ]
        )
        yield _next_ends(numbered, line, same)


def _marks(numbered: pl.DataFrame) -> pl.DataFrame:
    """The rows that begin or end attempts."""
    return numbered.filter(pl.col("kind").is_in([Kind.SCHEDULE, *ENDS])).select(
        *_TASK, pl.col("_at").cast(pl.Int64), "kind", "time_us", _is_end("kind")
    )


def _carry_ends(numbered: pl.DataFrame, later: pl.DataFrame) -> pl.DataFrame:
    touched = numbered.select(_TASK).unique()
    return later.join(touched, on=_TASK, how="semi").select(
        *_TASK,
        pl.lit(numbered.height, pl.Int64).alias("_at"),
        pl.col("end_kind").alias("kind"),
        pl.col("end_us").alias("time_us"),
        _is_end("end_kind"),
    )


def _is_end(column: str) -> pl.Expr:
    return pl.col(column).is_in(ENDS).alias("is_end")


def _next_ends(numbered: pl.DataFrame, line: pl.DataFrame, same: pl.Expr) -> pl.DataFrame:
    """An end's own row looks past itself: what follows it is the end of a later attempt."""
    group = (~same).cum_sum().shift(1, fill_value=0)
    ends = (
        line.with_columns(group.alias("_group"))
        .with_columns(
            pl.when("is_end").then("kind").backward_fill().over("_group").alias("end_kind"),
            pl.when("is_end").then("time_us").backward_fill().over("_group").alias("end_us"),
        )
        .filter(pl.col("kind") == Kind.SCHEDULE)
        .select("_at", "end_kind", "end_us")
    )
    return (
        numbered.with_columns(pl.col("_at").cast(pl.Int64))
        .join(ends, on="_at", how="left", maintain_order="left")
        .with_columns(pl.col("end_kind", "end_us").fill_null(NO_END))
        .drop("_at")
    )
