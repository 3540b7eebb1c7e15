"""Rates of first failures by age, from the rows of attempts of every age."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from lab.forecast.risk.live_rates import AGES_SECONDS, live_rates
from lab.forecast.risk.past import Events, Past
from lab.forecast.risk.rows import MICROSECONDS, Rows

NOW = 100_000 * MICROSECONDS


def rows_of(groups: Sequence[tuple[int, int, int, int]]) -> Rows:
    """Return rows by (age in whole seconds, job, rows, how many fail within five minutes)."""
    ages, jobs, labels = [], [], []
    for age, job, count, failing in groups:
        ages += [age] * count
        jobs += [job] * count
        labels += [1] * failing + [0] * (count - failing)
    count = len(ages)
    start = NOW - (np.array(ages) * MICROSECONDS).astype(np.int64)
    numbers = np.arange(count, dtype=np.int64)
    return Rows(
        position=numbers,
        time_us=np.full(count, NOW),
        segment=np.zeros(count, np.int16),
        job=np.array(jobs, np.int64),
        name=numbers,
        machine=numbers,
        start_us=start,
        end_us=np.full(count, NOW),
        label=np.array(labels, np.int8),
    )


def past_of(failed_jobs: list[int]) -> Past:
    """Return a history in which some jobs failed long ago."""
    count = len(failed_jobs)
    return Past(
        Events(
            time_us=np.full(count, NOW // 2),
            kind=np.full(count, 3, np.int8),
            job=np.array(failed_jobs, np.int64),
            name=np.full(count, -1),
        )
    )


def quarter(share: float) -> float:
    """Return the failures in 900 s of a share that fails within 300."""
    return -3 * math.log1p(-share)


def test_rates_are_of_jobs_that_had_not_failed_and_fall_with_age() -> None:
    """A rate that would rise, or with few failures, is one with its neighbour's."""
    groups = [
        (0, 1, 100, 10),
        (120, 1, 50, 50),  # between a placement and five minutes: the placement has counted
        (600, 1, 200, 5),
        (1_000, 1, 200, 15),  # rises
        (2_000, 1, 100, 1),  # few
        (4_000, 1, 400, 5),
        (9_000, 2, 1_000, 500),  # of a job that had failed
        (9_000, 1, 1_000, 0),
        (40_000, 1, 1_000, 0),
    ]
    rates = live_rates(rows_of(groups), past_of([2]), 900.0)
    assert rates.ages_seconds == AGES_SECONDS
    placed = rates.first[0]
    assert placed == pytest.approx(quarter(0.1), abs=1e-8)
    # 600 and 1,000 s are one because the rate would rise; then 2,000 s joins with its single failure.
    assert rates.first[1:4] == pytest.approx([quarter(21 / 500)] * 3, abs=1e-8)
    assert rates.first[4:] == pytest.approx([quarter(5 / 2_400)] * 3, abs=1e-8)
    assert list(rates.first) == sorted(rates.first, reverse=True)


def test_attempts_without_a_known_start_have_no_age() -> None:
    """They ran before anybody looked, and count for no rate."""
    rows = rows_of([(0, 1, 100, 10)])
    unknown = rows_of([(0, 1, 100, 100)])
    unknown.start_us[:] = 0
    both = Rows(
        **{
            name: np.concatenate([getattr(rows, name), getattr(unknown, name)])
            for name in Rows.__slots__
        }
    )
    assert live_rates(both, past_of([]), 900.0).first == live_rates(rows, past_of([]), 900.0).first
