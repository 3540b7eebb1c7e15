"""Intervals over training seeds, held against scipy and against worlds whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import trim_mean

from lab.learning.evaluation.statistics import (
    aggregate,
    iqm,
    probability_of_improvement,
    relative_gain,
)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 20, 21])
def test_interquartile_mean_is_scipys_trimmed_mean(count: int) -> None:
    """The mean of the middle half, as rliable takes it from scipy."""
    values = np.random.default_rng(count).normal(size=count)
    assert float(iqm(values)) == pytest.approx(float(trim_mean(values, 0.25)))


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Over 200 draws of 20 seeds, the 95 % interval holds the true middle in at least 90 % and not in all."""
    draws = np.random.default_rng(1)
    inside = 0
    for number in range(200):
        found = aggregate([draws.normal(3.0, 1.0, 20)], seed=number)
        inside += found.low <= 3.0 <= found.high
    assert 180 <= inside < 200


def test_one_seed_has_no_interval() -> None:
    """A single training says nothing of another one."""
    found = aggregate([np.array([1.0])], seed=0)
    assert found.value == 1.0
    assert math.isnan(found.low)
    assert not found.excludes_zero


def test_probability_of_improvement_counts_pairs() -> None:
    """All pairs above: 1; equal runs: a half; each with limits inside 0 and 1."""
    low, high = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    assert probability_of_improvement([high], [low], seed=0).value == 1.0
    same = probability_of_improvement([low], [low], seed=0)
    assert same.value == 0.5
    assert 0.0 <= same.low <= 0.5 <= same.high <= 1.0


def test_relative_gain_sees_a_tenth_and_only_a_tenth() -> None:
    """Costs a tenth below give 0.1 and exclude 0; equal costs with noise of training do not."""
    draws = np.random.default_rng(2)
    theirs = draws.gamma(4.0, 2.0, 100)
    ours = 0.9 * theirs[None, :] * draws.normal(1.0, 0.02, (10, 1))
    gain = relative_gain(ours, theirs, seed=0)
    assert gain.value == pytest.approx(0.1, abs=0.03)
    assert gain.excludes_zero
    nothing = relative_gain(theirs[None, :] * draws.normal(1.0, 0.05, (10, 1)), theirs, seed=0)
    assert not nothing.excludes_zero
    seeds = theirs[None, :] * draws.normal(1.0, 0.5, (10, 1))
    wider = relative_gain(ours, seeds, seed=0)
    assert wider.high - wider.low > 2.0 * (gain.high - gain.low)
