"""Rules against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from features.series.quantiles import row_quantiles, sorted_quantiles
from features.series.rules import highest, last_value, n_sigma
from lab.forecast.demand.baselines import (
    ascending_quantiles,
    percentile_limits,
    rc_like,
    same_time_yesterday,
    vpa_limits,
    vpa_weights,
    weighted_quantile,
)

NAN = math.nan


def recent(*newest: float) -> np.ndarray:
    """Return one series of 312 windows whose newest windows are given, the others missing."""
    row = np.full((1, 312), NAN)
    row[0, 312 - len(newest) :] = newest
    return row


def test_the_last_value_skips_missing_windows() -> None:
    """The last value is the newest known window, and nothing where none is known."""
    rows = np.array([[1.0, 2.0, NAN], [NAN, NAN, NAN]])
    assert last_value(rows)[0] == 2.0
    assert math.isnan(last_value(rows)[1])


def test_n_sigma_is_mean_plus_five_population_deviations() -> None:
    """2, 4, 4, 4, 5, 5, 7, 9 has mean 5 and deviation 2, so the limit is 15."""
    assert n_sigma(recent(2, 4, 4, 4, 5, 5, 7, 9))[0] == pytest.approx(15.0)


def test_n_sigma_reads_two_hours_and_nothing_older() -> None:
    """A spike 25 windows back does not count."""
    assert n_sigma(recent(1000.0, *[3.0] * 24))[0] == pytest.approx(3.0)


def test_rc_like_is_a_linear_percentile() -> None:
    """The 95th percentile of 0..20 lies at rank 19; of 1 and 2 between them."""
    assert rc_like(recent(*range(21)))[0] == pytest.approx(19.0)
    assert rc_like(recent(1.0, 2.0))[0] == pytest.approx(1.95)


def test_yesterday_is_the_peak_of_the_same_windows() -> None:
    """Of windows 288 to 277 back the largest counts; without them the last value."""
    row = recent(*np.zeros(311), 4.0)
    row[0, 312 - 288 + 11] = 7.0
    row[0, 312 - 288 + 12] = 9.0
    assert same_time_yesterday(row, 12)[0] == 7.0
    assert same_time_yesterday(row, 13)[0] == 9.0
    assert same_time_yesterday(recent(4.0), 12)[0] == 4.0


def test_the_highest_of_rules_ignores_a_rule_that_knows_nothing() -> None:
    """max(N-sigma, RC-like) is the larger one, or the known one."""
    actual = highest([np.array([1.0, NAN, 5.0]), np.array([2.0, 3.0, 4.0])])
    assert actual.tolist() == [2.0, 3.0, 5.0]


def test_vpa_weights_halve_every_day() -> None:
    """The newest window weighs 1, one a day older 1/2, two days older 1/4."""
    weights = vpa_weights(577)
    assert weights[576] == 1.0
    assert weights[288] == 0.5
    assert weights[0] == 0.25


def test_vpa_forgets_an_old_plateau_in_its_half_life() -> None:
    """A day at 10 and then k windows at 1: the 90th percentile falls when 1 has 90 % of weight."""
    values = np.concatenate([np.full(288, 10.0), np.full(2000, 1.0)])
    # Weight of the plateau is (1 - 2^-1) 2^(-k/288), of all that follows 1 - 2^(-k/288), in one
    # unit: the share of what follows is 0.9 at 2^(-k/288) = 2/11, which is k = 708.3.
    before, after = vpa_limits(values, np.array([288 + 708, 288 + 709]))
    assert before == pytest.approx(11.5)
    assert after == pytest.approx(1.15)


def test_limits_of_all_history_stop_at_the_origin() -> None:
    """What comes at or after an origin changes no limit there."""
    random = np.random.Generator(np.random.PCG64(1))
    values = random.gamma(2.0, size=400)
    values[50] = NAN
    origins = np.array([30, 100, 399])
    for origin in origins:
        cut = np.where(np.arange(400) < origin, values, NAN)
        one = np.array([origin])
        assert vpa_limits(cut[:origin], one) == pytest.approx(vpa_limits(values, one), abs=0)
        known = cut[:origin][~np.isnan(cut[:origin])]
        assert percentile_limits(values, one, 0.95)[0] == pytest.approx(np.quantile(known, 0.95))
        assert vpa_limits(values, one)[0] == pytest.approx(
            1.15 * weighted_quantile(cut[:origin], vpa_weights(400)[:origin], 0.9)
        )


def test_row_quantiles_are_those_of_numpy_without_the_holes() -> None:
    """Each row's quantile is numpy's linear one over what is known."""
    random = np.random.Generator(np.random.PCG64(2))
    rows = random.normal(size=(20, 31))
    rows[random.random(size=rows.shape) < 0.4] = NAN
    rows[3] = NAN
    actual = row_quantiles(rows, [0.0, 0.5, 0.9, 1.0])
    for row, values in zip(rows, actual, strict=True):
        known = row[~np.isnan(row)]
        if not known.size:
            assert np.isnan(values).all()
        else:
            assert values == pytest.approx(np.quantile(known, [0.0, 0.5, 0.9, 1.0]))
    assert sorted_quantiles(np.empty((0, 0)), np.zeros(0, np.int64), [0.5]).shape == (0, 1)


def test_quantiles_do_not_cross_and_lose_nothing() -> None:
    """After rearrangement each row ascends, and the pinball loss has not grown."""
    random = np.random.Generator(np.random.PCG64(3))
    levels = np.array([0.5, 0.9, 0.95])
    raw, truth = random.normal(size=(500, 3)), random.normal(size=(500, 1))
    ordered = ascending_quantiles(raw)
    assert (np.diff(ordered, axis=1) >= 0).all()

    def pinball(limits: np.ndarray) -> float:
        missed = truth - limits
        return float(np.maximum(levels * missed, (levels - 1) * missed).sum())

    assert pinball(ordered) <= pinball(raw) + 1e-9
