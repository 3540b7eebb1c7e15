"""How history arrives, and what was forgotten meanwhile, cannot be seen in any value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from features.history import FEATURE_SETS, Anchors, Events, History, TaskEvents
from features.history.attempts import Attempts
from tests.forecast.history.generated import history, questions, same_bits

ROWS, QUESTIONS = 120, 30
NAMES = st.sampled_from(sorted(FEATURE_SETS))
CUTS = st.lists(st.integers(0, ROWS), max_size=8)


def _resolve(events: Events) -> Events:
    _, tasks = Attempts.none().resolve(events.tasks)
    return Events(tasks, events.jobs, events.machines)


def _between(events: Events, begin_us: int, end_us: int) -> Events:
    """Return the job and machine events of [begin, end)."""
    tables = [
        table.rows((table.time_us >= begin_us) & (table.time_us < end_us))
        for table in (events.jobs, events.machines)
    ]
    return Events(TaskEvents.empty(), *tables)  # type: ignore[arg-type]


@settings(max_examples=12, deadline=None)
@given(name=NAMES, seed=st.integers(0, 10**6), cuts=CUTS, store=st.booleans())
def test_pieces_trims_and_checkpoints_change_no_bit(
    name: str, seed: int, cuts: list[int], store: bool
) -> None:
    """Every value is the same however events are cut, with trims and checkpoints in between."""
    chosen, events = FEATURE_SETS[name], history(seed, ROWS)
    anchors = questions(seed, events, QUESTIONS)
    whole = History.begin(chosen).extend(_resolve(events)).features(anchors)

    live, attempts, actual, now_us = History.begin(chosen), Attempts.none(), [], -1
    places = sorted({0, *cuts, ROWS})
    for start, stop in pairwise(places):
        attempts, tasks = attempts.resolve(events.tasks.rows(slice(start, stop)))
        end_us = int(events.tasks.time_us[stop]) if stop < ROWS else 2**62
        rest = _between(events, now_us, end_us)
        live = live.extend(Events(tasks, rest.jobs, rest.machines))
        due = (anchors.time_us > now_us) & (anchors.time_us <= end_us)
        actual.append(live.features(anchors.rows(due)))
        now_us = end_us
        if stop < ROWS:
            live = live.trim(end_us)
        if store:
            live = History.of_state(chosen, live.state())
    early = anchors.time_us <= -1
    assert not early.any()
    assert same_bits(np.concatenate(actual), whole)


@settings(max_examples=15, deadline=None)
@given(name=NAMES, seed=st.integers(0, 10**6), place=st.integers(0, QUESTIONS - 1))
def test_what_lies_at_or_after_a_row_is_invisible_to_it(name: str, seed: int, place: int) -> None:
    """Deleting the future, ties included, changes no value of a row; nor do later failures."""
    chosen, events = FEATURE_SETS[name], _resolve(history(seed, ROWS))
    anchors = questions(seed, events, QUESTIONS)
    moment_us = int(anchors.time_us[place])
    early = anchors.rows(anchors.time_us <= moment_us)
    whole = History.begin(chosen).extend(events).features(early)
    past = Events(
        events.tasks.rows(events.tasks.time_us < moment_us),
        events.jobs.rows(events.jobs.time_us < moment_us),
        events.machines.rows(events.machines.time_us < moment_us),
    )
    cut = History.begin(chosen).extend(past)
    assert same_bits(cut.features(early), whole)
    failure = TaskEvents.of(
        time_us=[moment_us, moment_us + 1], kind=[3, 3], job=early.job[:1].repeat(2), task=[0, 1]
    )
    assert same_bits(cut.extend(Events(failure)).features(early), whole)


@pytest.mark.parametrize("name", sorted(FEATURE_SETS))
def test_a_tie_is_invisible_and_one_microsecond_later_it_is_not(name: str) -> None:
    """A failure at a row's own microsecond does not count; a microsecond later it does."""
    failure = TaskEvents.of(time_us=[5_000_000], kind=[3], job=[1], task=[0], attempt_start_us=[9])
    after = History.begin(FEATURE_SETS[name]).extend(Events(failure))
    rows = Anchors.of(time_us=[5_000_000, 5_000_001], job=[1, 1], task=[0, 0])
    column = FEATURE_SETS[name].names.index("job_fails")
    assert after.features(rows)[:, column].tolist() == [0.0, 1.0]


def test_the_order_of_questions_does_not_matter() -> None:
    """Rows may be asked for in any order and together: each gets the values it gets alone."""
    chosen, events = FEATURE_SETS["full"], _resolve(history(7, ROWS))
    anchors = questions(7, events, QUESTIONS)
    past = History.begin(chosen).extend(events)
    whole = past.features(anchors)
    backwards = past.features(anchors.rows(np.arange(QUESTIONS)[::-1]))
    assert same_bits(np.ascontiguousarray(backwards[::-1]), whole)
    assert same_bits(past.features(anchors.rows(slice(3, 4))), whole[3:4])


def test_time_going_back_is_refused() -> None:
    """Events out of order, and rows from before a trim, are refused instead of counted wrongly."""
    event = TaskEvents.of(time_us=[10], kind=[0], job=[1], task=[0])
    past = History.begin(FEATURE_SETS["live"]).extend(Events(event))
    with pytest.raises(ValueError, match="go back in time"):
        past.extend(Events(TaskEvents.of(time_us=[9], kind=[0], job=[1], task=[0])))
    with pytest.raises(ValueError, match="older than what was trimmed to"):
        past.trim(50).extend(Events(TaskEvents.of(time_us=[49], kind=[0], job=[1], task=[0])))
    with pytest.raises(ValueError, match="older than what was kept"):
        past.trim(50).features(Anchors.of(time_us=[49], job=[1]))


def test_memory_is_bounded_by_keys_and_the_last_hour() -> None:
    """Trimming keeps a row per remembered key; forgotten ones and the bound's surplus go."""
    hour_us, jobs = 3_600_000_000, 500
    events = TaskEvents.of(
        time_us=np.arange(jobs) * 60_000_000 + 1, kind=[0] * jobs, job=range(jobs), task=[0] * jobs
    )
    past = History.begin(FEATURE_SETS["live"]).extend(Events(events))
    soon = past.trim(9 * hour_us)
    assert len(soon.ledgers["job"]) == jobs
    assert len(soon.trim(9 * hour_us, most_keys=20).ledgers["job"]) == 20 + 20
    assert len(past.trim(40 * hour_us).ledgers["job"]) == 0
    assert len(past.trim(40 * hour_us).recent.tasks) == 0


def test_another_version_or_set_is_refused_as_a_checkpoint() -> None:
    """A state that this code did not write is refused instead of counted on from."""
    live = FEATURE_SETS["live"]
    state = History.begin(live).state()
    with pytest.raises(ValueError, match=r"job\.totals has other columns"):
        History.of_state(live, state | {"job.totals": state["job.totals"][:, :5]})
    with pytest.raises(KeyError):
        History.of_state(FEATURE_SETS["full"], state)
