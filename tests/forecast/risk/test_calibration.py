"""Calibration: curves keep order and totals, and rolling recalibration knows only settled labels."""

from __future__ import annotations

import numpy as np
import pytest

from lab.forecast.risk.calibration import Curve, fit_curve, recalibrate
from lab.forecast.risk.metrics import brier_skill, expected_to_observed
from lab.forecast.risk.splits import fractions

SIZE = 6_000
EACH_ITS_OWN = np.arange(SIZE)


def _overconfident() -> tuple[np.ndarray, np.ndarray]:
    """Scores whose true probability is half of what they say."""
    score = fractions(np.arange(SIZE), 1) ** 4
    label = (fractions(np.arange(SIZE), 2) < score / 2).astype(np.int8)
    return score, label


def test_a_curve_corrects_the_total_and_keeps_the_order() -> None:
    """After calibration as many failures are expected as happen, and no two rows change places."""
    score, label = _overconfident()
    curve = fit_curve(score[::2], label[::2], EACH_ITS_OWN[::2])
    rest = curve.apply(score[1::2])

    assert expected_to_observed(label[1::2], score[1::2]) > 1.6
    assert expected_to_observed(label[1::2], rest) == pytest.approx(1.0, abs=0.15)
    assert brier_skill(label[1::2], rest) > brier_skill(label[1::2], score[1::2])
    assert (np.diff(np.asarray(curve.x)) > 0).all()
    assert (np.diff(np.asarray(curve.y)) > 0).all()
    assert 0.0 <= min(curve.y) < max(curve.y) <= 1.0


def test_few_positives_make_no_curve() -> None:
    """A curve of a handful of failures would be noise: scores stay as they are."""
    score, label = _overconfident()
    label[np.flatnonzero(label)[5:]] = 0

    assert Curve() == fit_curve(score, label, EACH_ITS_OWN)
    assert (Curve().apply(score) == score).all()


def test_scores_against_the_labels_make_no_curve() -> None:
    """A falling relation is not calibrated away; it would turn the order round."""
    score, label = _overconfident()

    assert Curve() == fit_curve(1.0 - score, label, EACH_ITS_OWN)


def test_recalibration_uses_settled_labels_only() -> None:
    """Changing labels that are not settled at a start changes nothing before the next start."""
    score, label = _overconfident()
    time = np.arange(SIZE) * 10
    starts, horizon = [20_000, 40_000], 900
    before = recalibrate(score, label, EACH_ITS_OWN, time, starts, horizon)
    changed = label.copy()
    unsettled = (time + horizon > 20_000) & (time < 40_000)
    changed[unsettled] = 1 - changed[unsettled]
    after = recalibrate(score, changed, EACH_ITS_OWN, time, starts, horizon)

    assert (before[time < 40_000] == after[time < 40_000]).all()
    assert (before[time >= 40_000] != after[time >= 40_000]).any()


def test_recalibration_brings_a_biased_score_back() -> None:
    """Windows with something known before them are calibrated; what came earlier is not touched."""
    score, label = _overconfident()
    time = np.arange(SIZE) * 10
    actual = recalibrate(score, label, EACH_ITS_OWN, time, [0, 20_000, 40_000], 900)
    later = time >= 20_000

    assert (actual[~later] == score[~later]).all()
    assert expected_to_observed(label[later], actual[later]) == pytest.approx(1.0, abs=0.2)


def test_one_crash_loop_does_not_bend_the_curve_far() -> None:
    """The same failures from one job move the curve less than from as many jobs as failures."""
    score, label = _overconfident()
    from_many = fit_curve(score, label, EACH_ITS_OWN).apply(score)
    from_one = fit_curve(score, label, np.zeros(SIZE, dtype=np.int64)).apply(score)

    assert abs(from_one - score).max() < 0.1 * abs(from_many - score).max()
