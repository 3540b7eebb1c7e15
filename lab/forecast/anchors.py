"""The moments at which a failure could have been predicted: anchors, one row for each decision.

`schedule`: each SCHEDULE event of the trace; the chosen machine is known. `grid`: every
running attempt each 5 minutes, at whole multiples of 5 minutes from the trace's start on. An
attempt runs at t when it began strictly before t and has not ended at t. `hazard`: both, so that
one model learns attempts of every age: their placement (age 0) and each moment that they lived to.
An attempt that ran before the trace began enters at the first moment at which it was seen, with
an unknown start (left truncation); the end of a segment censors.

Guarantee: rows come in the order of (time_us, row). Schedule anchors are stored; of a grid or hazard
dataset only the attempts are stored and its rows are made when they are read, so that 25 million rows
cost what the attempts cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from features.history import Kind
from lab.forecast.labels import LabelChoice, label, with_ends
from lab.forecast.parts import PartWriter
from lab.traces.events import MINUTE_US, TASK_EVENTS, TASK_FACTS, Schema

GRID_US = 5 * MINUTE_US
EVENTS_AT_A_TIME = 200_000
"""One row group of the event table."""
ANCHOR: Schema = {
    "row": pl.Int64,
    "time_us": pl.Int64,
    "segment": pl.Int16,
    **{name: TASK_EVENTS[name] for name in TASK_FACTS},
    "attempt_start_us": pl.Int64,
    "first_of_job": pl.Boolean,
    "job_first_us": pl.Int64,
    "job_failed_before": pl.Boolean,
    "uncertain": pl.Boolean,
    "end_kind": pl.Int8,
    "end_us": pl.Int64,
}
"""Columns before the labels. `row` counts the anchors; `job_first_us` is the time of the job's first
event; `job_failed_before` says that a FAIL of the job stands strictly before; `uncertain`, that somebody
influenced the attempt's outcome; `end_kind` and `end_us` are outcomes (-1: none in the segment) and no
features."""
PLACED = -1
"""In place of a moment: each attempt's own start."""
ATTEMPT: Schema = {**ANCHOR, "job_first_fail_us": pl.Int64}


def write_attempts(folder: Path, rows: int, at_a_time: int = EVENTS_AT_A_TIME) -> int:
    """Write attempts.parquet from events.parquet: one row for each SCHEDULE; returns its rows.

    `time_us` is the attempt's start; `row` counts the attempts.
    """
    events = pl.scan_parquet(folder / "events.parquet")
    jobs = job_facts(events)
    writer = PartWriter(folder / "attempts.parquet", ATTEMPT)
    starts = range(0, rows, at_a_time)
    backwards = (
        events.slice(start, at_a_time).collect().drop("attempt_start_us")
        for start in reversed(starts)
    )
    for number, frame in enumerate(with_ends(backwards)):
        attempts = frame.filter(pl.col("kind") == Kind.SCHEDULE).join(
            jobs, on="job", how="left", maintain_order="left"
        )
        writer.write(
            attempts.with_columns(
                pl.col("time_us").alias("attempt_start_us"),
                (pl.col("row") == pl.col("job_first_schedule")).alias("first_of_job"),
                failed_before("time_us"),
            ),
            place=len(starts) - number,
        )
    writer.finish()
    return writer.rows


def job_facts(events: pl.LazyFrame) -> pl.DataFrame:
    """Return, by job, the times of its first event and first FAIL and its first SCHEDULE's row."""
    kind = pl.col("kind")
    return (
        events.group_by("job")
        .agg(
            pl.col("time_us").min().alias("job_first_us"),
            pl.col("time_us")
            .filter(kind == Kind.FAIL)
            .min()
            .fill_null(-1)
            .alias("job_first_fail_us"),
            pl.col("row").filter(kind == Kind.SCHEDULE).min().alias("job_first_schedule"),
        )
        .collect(engine="streaming")
    )


def failed_before(decision: str) -> pl.Expr:
    """Say whether the job failed strictly before the decision, from `job_first_fail_us`."""
    first = pl.col("job_first_fail_us")
    return ((first >= 0) & (first < pl.col(decision))).alias("job_failed_before")


def schedule_anchors(
    attempts: pl.LazyFrame,
    choice: LabelChoice,
    segment_ends: Mapping[int, int],
    starts_at_us: int,
) -> pl.LazyFrame:
    """Return one row for each attempt that began in the trace, with labels.

    Where a trace starts later than 0, time 0 is the state before it: history, but no decision.
    """
    return (
        attempts.filter(pl.col("time_us") >= min(starts_at_us, 1))
        .drop("row", "job_first_fail_us")
        .with_row_index("row")
        .with_columns(label(choice, minutes, segment_ends) for minutes in choice.horizons)
        .select(pl.col("row").cast(pl.Int64), pl.exclude("row"))
    )


GRIDS = ("grid", "hazard")
"""Anchors whose rows are made when asked for."""


class Grid:
    """The rows of a grid over attempts, made when asked for."""

    def __init__(
        self,
        attempts: pl.DataFrame,
        choice: LabelChoice,
        segments: Mapping[int, tuple[int, int]],
        starts_at_us: int,
        *,
        with_placements: bool = False,
    ) -> None:
        """Take all attempts.

        Args:
            attempts: one row for each SCHEDULE, by time within each segment.
            choice: what is a failure.
            segments: segment -> (first event, last event), microseconds.
            starts_at_us: where the trace begins.
            with_placements: whether attempts that begin in the trace have a row at age 0, too.
        """
        self._attempts = attempts
        self._starts_at_us = starts_at_us
        self._first_placement_us = min(starts_at_us, 1) if with_placements else None
        self._choice = choice
        self._segments = dict(segments)
        self._ends = {segment: end for segment, (_, end) in segments.items()}
        self._moments = [
            (segment, int(time_us))
            for segment, (first, end) in sorted(self._segments.items())
            for time_us in range(
                -(-max(first, starts_at_us) // GRID_US) * GRID_US, end + 1, GRID_US
            )
        ]

    def frames(self, at_least: int) -> Iterator[pl.DataFrame]:
        """Yield anchors with labels, whole moments, `at_least` rows a frame where there are."""
        row, size = 0, 0
        moments: list[tuple[int, np.ndarray]] = []
        for time_us, running in self._running():
            moments.append((time_us, running))
            size += len(running)
            if size >= at_least:
                yield self._frame(moments, row)
                row, size, moments = row + size, 0, []
        if size:
            yield self._frame(moments, row)

    def rows(self) -> int:
        """Return how many rows there are."""
        return sum(len(running) for _, running in self._running())

    def _running(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each moment with the places of the attempts that run then, oldest first.

        The moment `PLACED` stands for each attempt's own start.
        """
        segment_of = self._attempts["segment"].to_numpy()
        start_of = self._attempts["time_us"].to_numpy()
        end_of = self._attempts["end_us"].to_numpy()
        bounds = {segment: np.flatnonzero(segment_of == segment) for segment in self._segments}
        running = np.empty(0, np.int64)
        current, moments_taken = None, 0
        for segment, time_us in self._moments:
            mine = bounds[segment]
            if segment != current:
                if current is not None:
                    yield from self._placed(start_of, bounds[current][moments_taken:])
                current, moments_taken, running = segment, 0, np.empty(0, np.int64)
            begun = int(np.searchsorted(start_of[mine], time_us, side="left"))
            yield from self._placed(start_of, mine[moments_taken:begun])
            running = np.concatenate((running, mine[moments_taken:begun]))
            moments_taken = begun
            ends = end_of[running]
            running = running[(ends < 0) | (ends > time_us)]
            yield time_us, running
        if current is not None:
            yield from self._placed(start_of, bounds[current][moments_taken:])

    def _placed(self, start_of: np.ndarray, places: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        if self._first_placement_us is not None:
            yield PLACED, places[start_of[places] >= self._first_placement_us]

    def _frame(self, moments: list[tuple[int, np.ndarray]], row: int) -> pl.DataFrame:
        places = np.concatenate([running for _, running in moments])
        times = np.repeat(
            [time_us for time_us, _ in moments], [len(running) for _, running in moments]
        )
        times = np.where(times == PLACED, self._attempts["time_us"].to_numpy()[places], times)
        return (
            self._attempts[places]
            .with_columns(
                pl.Series("time_us", times, pl.Int64),
                pl.Series("row", np.arange(row, row + len(places)), pl.Int64),
            )
            .with_columns(
                (pl.col("first_of_job") & (pl.Series(times) == pl.col("attempt_start_us"))).alias(
                    "first_of_job"
                ),
                failed_before("time_us"),
                pl.when(pl.col("attempt_start_us") <= 0)
                .then(self._starts_at_us)
                .otherwise(-1)
                .alias("seen_since_us"),
                *(label(self._choice, minutes, self._ends) for minutes in self._choice.horizons),
            )
            .drop("job_first_fail_us")
        )
