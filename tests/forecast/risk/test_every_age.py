"""Models of attempts of every age: how rows are drawn, and how they are judged by age."""

from __future__ import annotations

import numpy as np
import pytest

from features.history import FEATURE_SETS
from lab.forecast.risk.age_cells import POOLED, ScoredRows, table_of_cells
from lab.forecast.risk.ages_evaluation import best_rising_map
from lab.forecast.risk.calibration import wins_later
from lab.forecast.risk.every_age import (
    AGE_CLASSES,
    FALLING,
    RISING,
    age_class,
    column_groups,
    draw_pool,
)
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import Rows
from lab.forecast.risk.scoring import MODEL
from tests.forecast.risk.made import SECOND_US, history_of, rows_of

HOUR_US = 3_600 * SECOND_US


def test_each_row_has_the_class_of_its_age() -> None:
    """Age 0 is a placement, an edge belongs to the older class, and an unknown start is its own."""
    ages_us = [0, 1, HOUR_US // 4, HOUR_US, 6 * HOUR_US, 5]
    starts = [HOUR_US] * 5 + [0]
    rows = rows_of(
        time_us=[start + age for start, age in zip(starts, ages_us, strict=True)], start_us=starts
    )

    assert [0, 1, 2, 3, 4, 5] == age_class(rows).tolist()


def _half_placed(size: int) -> Rows:
    numbers = np.arange(size)
    start = np.where(numbers % 50 == 0, numbers + 1, 1) * SECOND_US
    return rows_of(
        time_us=(numbers + 1) * SECOND_US,
        start_us=start,
        job=numbers % 40,
        label=numbers % 97 == 0,
        end_us=np.where(numbers % 97 == 0, (numbers + 2) * SECOND_US, -1),
    )


def test_drawn_rows_stand_for_all_and_every_failure_is_drawn() -> None:
    """Each stratum's weights sum to its size, small strata are drawn whole, and positives always."""
    rows = _half_placed(20_000)
    past = JobCounts(history_of(rows))

    kept, weight = draw_pool(rows, past, 4_000, seed=0)

    assert kept[rows.label == 1].all()
    assert (weight[rows.label == 1] == 1.0).all()
    placed = rows.time_us == rows.start_us
    assert kept[placed].all()
    assert 2_000 < kept.sum() < 3_500
    assert weight[kept].sum() == pytest.approx(len(rows), rel=0.05)


def test_signs_follow_sense() -> None:
    """Risk rises with failures and falls with the time since; durations of failures have no sign. An
    unknown start is given an age of a day live, so that column is none of the set."""
    features = FEATURE_SETS["hazard"].features
    groups = column_groups(features)
    names = [feature.name for feature in features]

    def within(group: str, name: str) -> bool:
        return bool(groups[group][names.index(name)])

    assert "attempt_age_seconds" not in names
    assert within(RISING, "job_fails_15m")
    assert within(RISING, "user_recent_fail_rate")
    assert within(FALLING, "job_since_fail_seconds")
    assert not within(RISING, "job_last_fail_duration_seconds")
    assert not (groups[RISING] & groups[FALLING]).any()


def test_cells_with_few_failures_are_pooled_and_no_row_is_lost() -> None:
    """A cell stands alone from 200 failures of 30 jobs on; the others of its window become one."""
    size = 3_000
    numbers = np.arange(size)
    many = numbers < 1_000
    label = many & (numbers % 3 == 0)
    label[1_000:1_010] = True
    rows = rows_of(
        job=numbers % 50, label=label, time_us=numbers + HOUR_US, start_us=np.full(size, 1)
    )
    ages = np.where(many, 0, np.where(numbers < 2_000, 1, 2))
    probability = np.where(many, 0.5, 0.005)
    judged = ScoredRows(rows, {MODEL: probability}, numbers % 5)

    cells = table_of_cells(judged, ["one"], np.zeros(size, np.int64), ages, seed=1)

    alone, rest = cells
    assert (alone.ages, alone.is_judged, rest.is_judged) == (AGE_CLASSES[0], True, False)
    assert alone.expected_observed == pytest.approx(500 / 334)
    assert not alone.holds
    assert rest.ages == POOLED
    assert rest.expected_observed == pytest.approx(2_000 * 0.005 / 10)
    assert alone.rows + rest.rows == size
    assert alone.by_job[0] <= alone.expected_observed <= alone.by_job[1]


def test_a_curve_is_published_only_if_it_wins_on_later_windows() -> None:
    """Scores that are always half of the truth want a curve; scores that are true do not."""
    size = 8_000
    numbers = np.arange(size)
    truth = np.where(numbers % 4 == 0, 0.4, 0.02)
    draw = np.random.Generator(np.random.PCG64(3)).random(size)
    label = (draw < truth).astype(np.int8)
    windows = numbers // 2_000
    common = (label, numbers % 200, numbers * SECOND_US, windows, SECOND_US, np.ones(size))

    assert wins_later(truth / 2, *common)
    flipped = np.where(windows % 2 == 0, 1 - label, label).astype(np.int8)
    assert not wins_later(truth, flipped, *common[1:])


def test_a_rule_is_judged_by_the_best_it_could_be() -> None:
    """The best rising map of a score gives each level what was observed, and never falls."""
    scores = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0])
    label = np.array([0, 1, 0, 0, 1, 1], dtype=np.int8)

    assert [0.25, 0.25, 0.25, 0.25, 1.0, 1.0] == best_rising_map(scores, label).tolist()
