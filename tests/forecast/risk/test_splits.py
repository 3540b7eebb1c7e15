"""Splits by time and by job: nothing of the test is known in training, whatever the history."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bus.errors import InputError
from lab.forecast.risk.folds import rolling_folds
from lab.forecast.risk.past import ENDS, FAIL, SCHEDULE, Events, JobCounts
from lab.forecast.risk.rows import Rows
from lab.forecast.risk.splits import (
    ILLUSION,
    SEEN,
    UNSEEN,
    Cut,
    Split,
    check,
    cut_of,
    fractions,
    illusion,
    main_segment,
    time_splits,
)
from tests.forecast.risk.made import SECOND_US, TRACE_START_US, made_rows, rows_of

HORIZON_SECONDS = 900


def _cut_at(rows: Rows, share: float = 0.6) -> Cut:
    bounds = (TRACE_START_US, int(rows.time_us.max()))
    return cut_of(rows, bounds, 0, HORIZON_SECONDS, share)


@pytest.mark.parametrize("seed", range(5))
def test_no_job_and_no_time_is_on_both_sides(seed: int) -> None:
    """Split 1 shares no job with training, and training labels settle before the test begins."""
    rows, past = made_rows(seed)
    cut = _cut_at(rows)
    splits = time_splits(rows, cut, past)
    one, seen = splits[UNSEEN], splits[SEEN]

    assert not np.intersect1d(rows.job[one.train], rows.job[one.test]).size
    assert np.isin(rows.job[seen.test], rows.job[rows.time_us < cut.cut_us]).all()
    for split in (one, seen):
        settled = rows.time_us[split.train].max() + HORIZON_SECONDS * SECOND_US
        assert settled <= cut.cut_us <= rows.time_us[split.test].min()
    assert (one.test | seen.test).sum() == (rows.time_us >= cut.cut_us).sum()


def test_an_unseen_job_has_no_event_at_all_before_the_test() -> None:
    """A job that was only submitted before the cut is a seen job, though it has no training row."""
    rows = rows_of(
        time_us=[1_000 * SECOND_US, 9_000 * SECOND_US, 9_100 * SECOND_US], job=[1, 2, 3], label=[1, 1, 1]
    )  # fmt: skip
    events = Events(
        time_us=np.append(rows.time_us, 2_000 * SECOND_US),
        kind=np.array([SCHEDULE] * 3 + [0], dtype=np.int8),
        job=np.array([1, 2, 3, 2]),
        name=np.zeros(4, dtype=np.int64),
    )
    cut = cut_of(rows, (0, 10_000 * SECOND_US), 0, HORIZON_SECONDS, 0.5)
    splits = time_splits(rows, cut, JobCounts(events))

    assert [3] == rows.job[splits[UNSEEN].test].tolist()
    assert [2] == rows.job[splits[SEEN].test].tolist()


def test_a_leaking_split_is_refused() -> None:
    """The guard sees a shared job and a label that looks into the test time."""
    rows, _ = made_rows(1)
    cut = _cut_at(rows)
    late = rows.time_us >= cut.cut_us
    early = rows.time_us <= cut.cut_us - cut.purge_us

    with pytest.raises(InputError, match="both sides"):
        check(Split(UNSEEN, early, late), rows, cut)
    with pytest.raises(InputError, match="look into the test time"):
        check(Split(SEEN, ~late, late), rows, cut)


def test_the_illusion_is_named_so() -> None:
    """Random rows come only from `illusion`, partition the segment and say what they are."""
    rows, past = made_rows(2)
    split = illusion(rows, 0, seed=0)

    assert (split.train ^ split.test).all()
    assert split.is_illusion
    assert split.title.startswith("ILLUSION")
    assert ILLUSION not in time_splits(rows, _cut_at(rows), past)
    assert 0.55 < split.train.mean() < 0.65


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, 0.000001])
def test_a_cut_without_rows_on_one_side_is_refused(share: float) -> None:
    """A share that leaves nothing to learn from or to test on is one clear line."""
    rows, _ = made_rows(3)
    with pytest.raises(InputError, match="--train-share"):
        _cut_at(rows, share)


def test_the_main_segment_has_the_most_rows() -> None:
    """Data of another shape is cut in its largest segment; among equals in the first."""
    assert 4 == main_segment(rows_of(segment=[2, 4, 4]))
    assert 2 == main_segment(rows_of(segment=[4, 2, 2, 4]))


def test_folds_learn_only_from_what_was_settled_before_their_window() -> None:
    """Windows follow one another up to the cut, each with the gap before it."""
    cut = Cut(0, 0, 100_000, 60_000, 900)
    folds = rolling_folds(cut)

    assert [1, 2, 3, 4, 5] == [fold.number for fold in folds]
    assert (20_000, 60_000) == (folds[0].start_us, folds[-1].end_us)
    assert all(fold.learnt_until_us == fold.start_us - 900 for fold in folds)
    assert all(one.end_us == two.start_us for one, two in itertools.pairwise(folds))


def test_drawing_depends_on_row_and_seed_alone() -> None:
    """A row is drawn or not whatever other rows there are, and evenly."""
    numbers = np.arange(10_000)
    drawn = fractions(numbers, 3)

    assert (drawn[5_000:] == fractions(numbers[5_000:], 3)).all()
    assert (drawn != fractions(numbers, 4)).all()
    assert 0.48 < drawn.mean() < 0.52
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0


@pytest.mark.parametrize("seed", range(3))
def test_the_past_is_counted_strictly_before(seed: int) -> None:
    """Rates and first failures equal a count by hand; events at the row's own time do not exist."""
    rows, past = made_rows(seed, size=150, jobs=12)
    failed = rows.label == 1
    fails = list(zip(rows.job[failed], rows.name[failed], rows.end_us[failed], strict=True))
    asked = rows.time_us + (rows.position % 2) * 400 * SECOND_US
    rates = past.job_rate(rows.job, asked, 0.1)
    names = past.name_rate(rows.name, asked, 0.1)
    first = past.before_first_failure(rows.job, asked)

    for place in range(len(rows)):
        job, name, now = rows.job[place], rows.name[place], asked[place]
        starts = int(((rows.job == job) & (rows.time_us < now)).sum())
        of_job = sum(one == job and at < now for one, _, at in fails)
        of_name = sum(one == name and at < now for _, one, at in fails)
        assert rates[place] == pytest.approx((of_job + 0.1) / (starts + 1))
        assert names[place] == pytest.approx((of_name + 0.1) / (of_name + 1))
        assert first[place] == (of_job == 0)
    assert FAIL in ENDS
