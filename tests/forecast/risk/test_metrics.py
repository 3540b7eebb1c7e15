"""Metrics against scikit-learn and against sums done by hand, above all where scores are tied."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.forecast.risk import metrics

ROWS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 4), st.integers(1, 9)), min_size=2, max_size=40
)


@given(ROWS)
@settings(max_examples=60, deadline=None)
def test_ordering_metrics_agree_with_scikit_learn(drawn: list[tuple[int, int, int]]) -> None:
    """Average precision, weighted or not, and AUROC are scikit-learn's, many ties included."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    label, score, weight = (np.array(column) for column in zip(*drawn, strict=True))
    if label.min() == label.max():
        return
    assert metrics.average_precision(label, score) == pytest.approx(
        average_precision_score(label, score)
    )
    assert metrics.average_precision(label, score, weight) == pytest.approx(
        average_precision_score(label, score, sample_weight=weight)
    )
    assert metrics.Ranking(label, score).auroc() == pytest.approx(roc_auc_score(label, score))


def test_a_tie_is_one_step() -> None:
    """Four tied rows with one positive have the precision of the whole group, in any order."""
    for label in ([1, 0, 0, 0], [0, 0, 0, 1]):
        assert 0.25 == metrics.average_precision(label, [0.5] * 4)


def test_no_positive_has_no_average_precision() -> None:
    """Without positives, average precision is not a number instead of a good or bad one."""
    assert math.isnan(metrics.average_precision([0, 0], [0.1, 0.2]))
    assert math.isnan(metrics.average_precision([], []))


def test_the_top_share_is_expected_under_ties() -> None:
    """Two of a tied group of four, half of them positive, count as one positive expected."""
    top = metrics.Ranking([1, 1, 0, 1, 0, 0, 0, 0, 0, 0], [9, 5, 5, 5, 5, 1, 1, 1, 1, 1]).top(0.3)

    assert (3, 5.0) == (top.rows, top.threshold)
    assert top.precision == pytest.approx(2 / 3)
    assert top.recall == pytest.approx(2 / 3)


def test_the_top_of_few_rows_is_one_row() -> None:
    """A share of less than one row still looks at one."""
    assert 1 == metrics.Ranking([0, 1], [0.1, 0.9]).top(0.001).rows


def test_brier_and_skill_by_hand() -> None:
    """Brier is the mean squared error; skill compares with the best constant in hindsight."""
    from sklearn.metrics import brier_score_loss

    label, probability = [1, 0, 0, 0], [0.7, 0.1, 0.1, 0.1]
    expected = (0.09 + 3 * 0.01) / 4

    assert metrics.brier(label, probability) == pytest.approx(expected)
    assert metrics.brier(label, probability) == pytest.approx(brier_score_loss(label, probability))
    assert metrics.brier_skill(label, probability) == pytest.approx(1 - expected / (0.25 * 0.75))
    assert metrics.brier_skill(label, [0.25] * 4) == pytest.approx(0.0)


def test_a_drawn_negative_counts_for_those_left_out() -> None:
    """Weights give the same figures as the rows they stand for."""
    label, probability, weight = [1, 0, 0], [0.5, 0.2, 0.1], [1, 3, 2]
    whole = ([1, 0, 0, 0, 0, 0], [0.5, 0.2, 0.2, 0.2, 0.1, 0.1])

    for figure in (metrics.brier, metrics.brier_skill, metrics.expected_to_observed):
        assert figure(label, probability, weight) == pytest.approx(figure(*whole))


def test_bins_hold_every_row_once() -> None:
    """Bins between edges and bins of equal count partition the rows; the last edge belongs to them."""
    probability = np.array([0.0, 0.001, 0.002, 0.3, 1.0, 1.0])
    label = np.array([0, 0, 1, 0, 1, 1])
    for bins in (
        metrics.bins_between(label, probability, metrics.PROBABILITY_EDGES),
        metrics.bins_of_equal_count(label, probability, 3),
    ):
        assert (6, 3) == (sum(one.rows for one in bins), sum(one.observed for one in bins))
        assert math.fsum(one.expected for one in bins) == pytest.approx(probability.sum())


def test_calibration_error_of_a_constant() -> None:
    """A constant has one bin, and its error is its distance from the prevalence."""
    bins = metrics.bins_of_equal_count([1, 0, 0, 0], [0.5] * 4)

    assert metrics.calibration_error(bins) == pytest.approx(0.25)


def test_the_largest_calibration_error_is_that_of_the_worst_bin() -> None:
    """Bins of 0.1 with an error of 0.1 and of 0.9 with an error of 0.4: MCE 0.4, and empty bins do not count."""
    label, probability = [0, 0, 0, 0, 1, 0], [0.1, 0.1, 0.1, 0.1, 0.9, 0.9]
    bins = metrics.bins_between(label, probability, metrics.equal_width_edges())

    assert metrics.largest_calibration_error(bins) == pytest.approx(0.4)
    assert metrics.calibration_error(bins) == pytest.approx((4 * 0.1 + 2 * 0.4) / 6)
    assert math.isnan(metrics.largest_calibration_error(()))


def test_a_threshold_counts_what_is_at_and_above_it() -> None:
    """Three alarms, two of them right, of four positives; and no division by nothing."""
    label, probability = [1, 1, 0, 1, 1, 0], [0.9, 0.5, 0.5, 0.2, 0.1, 0.1]
    half, one = metrics.sweep_thresholds(label, probability, (0.5, 1.0))

    assert (half.alarms, half.precision, half.recall) == (3, pytest.approx(2 / 3), 0.5)
    assert half.f1 == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))
    assert (one.alarms, one.recall, one.f1) == (0, 0.0, 0.0)
    assert math.isnan(one.precision)
    assert math.isnan(metrics.sweep_thresholds([0], [0.9], (0.5,))[0].f1)


def test_every_job_weighs_the_same() -> None:
    """With equal job weight, a job of three rows counts as much as a job of one."""
    assert [1 / 3, 1 / 3, 1 / 3, 1.0] == pytest.approx(metrics.job_weights([7, 7, 7, 8]).tolist())


def test_macro_average_precision_needs_both_classes() -> None:
    """Jobs with one class only are left out of the macro average, and the rest is counted."""
    label, job = [1, 0, 1, 1, 0, 0, 1], [1, 1, 2, 2, 3, 4, 4]
    value, jobs = metrics.macro_average_precision(label, [9, 1, 5, 5, 5, 8, 2], job)

    assert (0.75, 2) == (value, jobs)


def test_the_worst_jobs_are_those_with_most_positives() -> None:
    """Ranked by positives, the smaller id first among equals; jobs without any are not bad."""
    label, job = [1, 1, 1, 1, 0, 1], [5, 5, 3, 9, 4, 3]

    assert [3, 5] == metrics.worst_jobs(label, job, 2).tolist()
    assert {3, 5, 9} == set(metrics.worst_jobs(label, job, 10).tolist())
