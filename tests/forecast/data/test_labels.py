"""Attempts, ends, labels and censoring, against slow code that says the same in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from features.history import Kind
from lab.forecast.anchors import schedule_anchors, write_attempts
from lab.forecast.labels import LabelChoice
from lab.traces.events import ENDS
from tests.forecast.data.made import MINUTE_US, Event, draw_events, write_events

CHOICE = LabelChoice((Kind.EVICT, Kind.FAIL), 15)
OUTCOMES = ["end_kind", "end_us", *(f"label_{minutes}m" for minutes in CHOICE.horizons)]


def _anchors(
    events: Sequence[Event], at_a_time: int = 7, choice: LabelChoice = CHOICE
) -> pl.DataFrame:
    with TemporaryDirectory() as folder:
        rows, segments = write_events(Path(folder), events, at_a_time)
        write_attempts(Path(folder), rows, at_a_time)
        ends = {segment: end for segment, (_, end) in segments.items()}
        attempts = pl.scan_parquet(Path(folder) / "attempts.parquet")
        return schedule_anchors(attempts, choice, ends, 0).collect()


def _slow(events: Sequence[Event]) -> list[tuple[int, int, int, int, list[int], bool, bool, int]]:
    """Each SCHEDULE with its end, its labels and what its job had done: by looking, row by row."""
    events = list(dict.fromkeys(events))
    last = {event.segment: event.time_us for event in events}
    rows = []
    for at, event in enumerate(events):
        if event.kind != Kind.SCHEDULE:
            continue
        later = (
            other for other in events[at + 1 :] if other[2:] == event[2:] and other.kind in ENDS
        )
        end = next(later, None)
        kind, end_us = (int(end.kind), end.time_us) if end else (-1, -1)
        labels = []
        for minutes in CHOICE.horizons:
            until = event.time_us + minutes * MINUTE_US
            fails = kind in CHOICE.failures and event.time_us < end_us <= until
            labels.append(-1 if until > last[event.segment] else int(fails))
        of_job = [other for other in events if other.job == event.job and other.kind != Kind.OTHER]
        failed = any(o.kind == Kind.FAIL and o.time_us < event.time_us for o in of_job)
        first = not any(o.kind == Kind.SCHEDULE and o.job == event.job for o in events[:at])
        rows.append(
            (event.time_us, event.job, kind, end_us, labels, failed, first, of_job[0].time_us)
        )
    return rows


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([3, 11, 100]))
def test_labels_are_what_looking_ahead_row_by_row_finds(seed: int, at_a_time: int) -> None:
    """Ends, labels, censoring and job facts agree with a plain search, however the events are cut."""
    events = draw_events(seed)

    anchors = _anchors(events, at_a_time)

    labels = [f"label_{minutes}m" for minutes in CHOICE.horizons]
    assert _slow(events) == [
        (
            row["time_us"],
            row["job"],
            row["end_kind"],
            row["end_us"],
            [row[name] for name in labels],
            row["job_failed_before"],
            row["first_of_job"],
            row["job_first_us"],
        )
        for row in anchors.iter_rows(named=True)
    ]


@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 80))
def test_deleting_the_future_changes_no_column_but_the_outcome(seed: int, minute: int) -> None:
    """Without the events at or after a moment, every row before it keeps all but end and labels."""
    events = draw_events(seed)
    moment_us = minute * MINUTE_US

    before = [event for event in events if event.time_us < moment_us]
    whole = _anchors(events).filter(pl.col("time_us") < moment_us).drop(OUTCOMES)

    assert whole.rows() == (_anchors(before).drop(OUTCOMES).rows() if before else [])


def test_a_future_terminal_event_changes_only_the_label() -> None:
    """Adding a FAIL after a decision moves its outcome and nothing else of any row."""
    events = [
        Event(MINUTE_US, Kind.SCHEDULE, 1, 1),
        Event(3 * MINUTE_US, Kind.SCHEDULE, 2, 1),
        Event(90 * MINUTE_US, Kind.SUBMIT, 9, 9),
    ]
    fail = Event(9 * MINUTE_US, Kind.FAIL, 1, 1)

    quiet, failing = _anchors(events), _anchors([*events[:2], fail, events[2]])

    assert quiet.drop(OUTCOMES).rows() == failing.drop(OUTCOMES).rows()
    assert [0, 0] == quiet["label_15m"].to_list()
    assert [1, 0] == failing["label_15m"].to_list()


def test_the_horizon_is_open_at_its_start_and_closed_at_its_end() -> None:
    """An end in the moment of the decision is outside, one exactly a horizon later inside."""
    events = [
        Event(MINUTE_US, Kind.SCHEDULE, 1, 1),
        Event(MINUTE_US, Kind.FAIL, 1, 1),
        Event(2 * MINUTE_US, Kind.SCHEDULE, 1, 2),
        Event(17 * MINUTE_US, Kind.FAIL, 1, 2),
        Event(20 * MINUTE_US, Kind.SCHEDULE, 1, 3),
        Event(35 * MINUTE_US + 1, Kind.FAIL, 1, 3),
        Event(90 * MINUTE_US, Kind.SUBMIT, 9, 9),
    ]

    assert [0, 1, 0] == _anchors(events)["label_15m"].to_list()


def test_no_end_reaches_over_a_hole_in_the_trace() -> None:
    """An attempt that is open at the end of its segment has no end, whatever comes after the hole."""
    events = [
        Event(MINUTE_US, Kind.SCHEDULE, 1, 1, 0),
        Event(20 * MINUTE_US, Kind.SUBMIT, 9, 9, 0),
        Event(90 * MINUTE_US, Kind.FAIL, 1, 1, 1),
    ]

    anchors = _anchors(events)

    assert [-1] == anchors["end_us"].to_list()
    assert [(0, -1)] == anchors.select("label_15m", "label_30m").rows()


def test_the_choice_of_failures_decides_the_label() -> None:
    """The same end is a failure under one choice and none under another."""
    events = [
        Event(MINUTE_US, Kind.SCHEDULE, 1, 1),
        Event(5 * MINUTE_US, Kind.KILL, 1, 1),
        Event(90 * MINUTE_US, Kind.SUBMIT, 9, 9),
    ]

    assert [0] == _anchors(events)["label_15m"].to_list()
    assert [1] == _anchors(events, choice=LabelChoice((Kind.KILL,), 15))["label_15m"].to_list()


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([3, 100]))
def test_an_end_knows_when_its_attempt_began(seed: int, at_a_time: int) -> None:
    """The start of an end is the task's last SCHEDULE with no end between, in the same segment."""
    events = list(dict.fromkeys(draw_events(seed)))
    running: dict[tuple[int, ...], int] = {}
    expected = []
    for event in events:
        if event.kind == Kind.OTHER:
            continue
        expected.append(running.pop(event[2:], -1) if event.kind in ENDS else -1)
        if event.kind == Kind.SCHEDULE:
            running[event[2:]] = event.time_us

    with TemporaryDirectory() as folder:
        write_events(Path(folder), events, at_a_time)
        actual = pl.read_parquet(Path(folder) / "events.parquet")["attempt_start_us"].to_list()

    assert expected == actual
