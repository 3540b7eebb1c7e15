"""The grid over running attempts: rows made on reading, against a plain search."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from features.history import Kind
from lab.forecast.anchors import GRID_US, Grid, write_attempts
from lab.forecast.labels import LabelChoice
from tests.forecast.data.made import MINUTE_US, Event, draw_events, write_events

CHOICE = LabelChoice((Kind.FAIL,), 15)


def _grid(events: list[Event], starts_at_us: int = 0) -> Grid:
    with TemporaryDirectory() as folder:
        rows, segments = write_events(Path(folder), events)
        write_attempts(Path(folder), rows)
        attempts = pl.read_parquet(Path(folder) / "attempts.parquet")
    return Grid(attempts, CHOICE, segments, starts_at_us)


def _slow(
    grid_of: pl.DataFrame, segments: dict[int, tuple[int, int]]
) -> list[tuple[int, int, int]]:
    return [
        (time_us, row["job"], row["task"])
        for segment, (first, end) in sorted(segments.items())
        for time_us in range(0, end + 1, GRID_US)
        if time_us >= first
        for row in grid_of.iter_rows(named=True)
        if row["segment"] == segment and row["attempt_start_us"] < time_us
        if row["end_us"] < 0 or row["end_us"] > time_us
    ]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1, 10, 1_000]))
def test_the_grid_holds_every_running_attempt_at_every_moment(seed: int, at_least: int) -> None:
    """Each attempt stands at each multiple of 5 minutes between its start and end, in order, once."""
    grid = _grid(draw_events(seed))

    frames = list(grid.frames(at_least))

    expected = _slow(grid._attempts, grid._segments)
    rows = [row for frame in frames for row in frame.select("time_us", "job", "task").rows()]
    assert expected == rows
    assert grid.rows() == len(expected)
    numbers = [row for frame in frames for row in frame["row"].to_list()]
    assert list(range(len(expected))) == numbers


def test_labels_follow_the_moment_and_not_the_start() -> None:
    """One attempt is negative while its failure is far, positive when it is near."""
    events = [
        Event(MINUTE_US, Kind.SCHEDULE, 1, 1),
        Event(32 * MINUTE_US, Kind.FAIL, 1, 1),
        Event(90 * MINUTE_US, Kind.SUBMIT, 9, 9),
    ]

    (frame,) = _grid(events).frames(1_000)

    times = [time_us // MINUTE_US for time_us in frame["time_us"].to_list()]
    assert [(5, 0), (10, 0), (15, 0), (20, 1), (25, 1), (30, 1)] == list(
        zip(times, frame["label_15m"].to_list(), strict=True)
    )


def test_the_grid_begins_where_the_trace_begins() -> None:
    """The state before the trace runs from the trace's start on, not from time 0."""
    events = [Event(0, Kind.SCHEDULE, 1, 1), Event(16 * MINUTE_US, Kind.FAIL, 1, 1)]

    (frame,) = _grid(events, starts_at_us=10 * MINUTE_US).frames(1_000)

    assert [10, 15] == [time_us // MINUTE_US for time_us in frame["time_us"].to_list()]


def test_a_hazard_dataset_holds_placements_and_every_age_in_order() -> None:
    """Each attempt that begins in the trace has a row at age 0; the state before it has none."""
    events = [
        Event(0, Kind.SCHEDULE, 1, 1),
        Event(2 * MINUTE_US, Kind.SCHEDULE, 2, 2),
        Event(3 * MINUTE_US, Kind.FAIL, 2, 2),
        Event(7 * MINUTE_US, Kind.SCHEDULE, 3, 3),
        Event(11 * MINUTE_US, Kind.SCHEDULE, 4, 4),
        Event(12 * MINUTE_US, Kind.FAIL, 4, 4),
    ]
    attempts = _grid(events)._attempts
    segments = {0: (0, 12 * MINUTE_US)}

    grid = Grid(attempts, CHOICE, segments, 5 * MINUTE_US, with_placements=True)
    frames = list(grid.frames(2))

    rows = [row for frame in frames for row in frame.select("time_us", "job").rows()]
    assert [(2, 2), (5, 1), (7, 3), (10, 1), (10, 3), (11, 4)] == [
        (time_us // MINUTE_US, job) for time_us, job in rows
    ]
    assert grid.rows() == len(rows)
    first_of_job = [flag for frame in frames for flag in frame["first_of_job"].to_list()]
    assert [True, False, True, False, False, True] == first_of_job
