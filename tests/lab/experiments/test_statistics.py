"""Intervals, tests and shares are what their definitions say, in whatever order and unit results come."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.experiments.effects import ArmEffect, ConfidenceInterval, verdict_of
from lab.experiments.metrics import METRICS
from lab.experiments.resampling import SignFlips, mean_intervals
from lab.experiments.results import TrialResult
from lab.experiments.statistics import Analysis, analyse, holm
from tests.lab.experiments.made_up import SCORE, experiment, results, shifted

ARM, REFERENCE = "baseline-rules", "none"
SMALL = settings(max_examples=15, deadline=None)
whole_numbers = st.integers(min_value=-40, max_value=40)


def primary(analysis: Analysis) -> ArmEffect:
    """Return the hypothesis' effect."""
    assert analysis.primary is not None
    return analysis.primary


def with_values(values: Mapping[tuple[str, str, int], float], metric: str = SCORE) -> ArmEffect:
    """Return the effect of values by (arm, workload, seed)."""
    seeds = max(seed for _, _, seed in values)
    workloads = tuple(dict.fromkeys(workload for _, workload, _ in values))
    of = experiment(workloads=workloads, seeds=seeds, metric=metric, resamples=200)
    return primary(analyse(of, results(of, lambda *place: {metric: values[place[:3]]})))


def with_differences(*differences: float, metric: str = SCORE) -> ArmEffect:
    """Return the effect of differences on one workload, the reference at 0 everywhere."""
    values = {}
    for seed, difference in enumerate(differences, start=1):
        values |= {(ARM, "web", seed): difference, (REFERENCE, "web", seed): 0.0}
    return with_values(values, metric)


@SMALL
@given(st.randoms(use_true_random=False))
def test_the_order_of_results_changes_nothing(random: Random) -> None:
    """Not a digit of any effect."""
    of = experiment(("none", "hpa", ARM), seeds=5, resamples=200)
    found = results(of, shifted({ARM: 1.0, "hpa": -1.0}))
    effects = analyse(of, found).effects
    random.shuffle(found)
    assert analyse(of, found).effects == effects


@SMALL
@given(whole_numbers, st.lists(whole_numbers, min_size=4, max_size=4))
def test_a_shift_of_one_arm_shifts_its_difference(by: int, differences: list[int]) -> None:
    """Mean, interval, interquartile mean, worst seed and tenth alike; the spread stays."""
    one, other = (
        with_differences(*differences),
        with_differences(*(each + by for each in differences)),
    )
    for before, after in (
        (one.difference.value, other.difference.value),
        (one.difference.low, other.difference.low),
        (one.difference.high, other.difference.high),
        (one.middle.value, other.middle.value),
        (one.worst.difference, other.worst.difference),
        (one.worst_tenth, other.worst_tenth),
    ):
        assert after == pytest.approx(before + by, abs=1e-9)
    assert other.detectable == pytest.approx(one.detectable, abs=1e-9)


@SMALL
@given(st.floats(min_value=1e-3, max_value=1e4), st.lists(whole_numbers, min_size=5, max_size=5))
def test_another_unit_changes_figures_in_proportion(scale: float, differences: list[int]) -> None:
    """p-values and shares stay, everything else is multiplied."""
    one = with_differences(*differences)
    other = with_differences(*(scale * each for each in differences))
    for name in ("p", "better", "equal"):
        assert getattr(other, name) == pytest.approx(getattr(one, name))
    tolerance = 1e-9 * scale * 50 + 1e-9
    for name in ("difference", "middle"):
        for end in ("value", "low", "high"):
            before, after = getattr(getattr(one, name), end), getattr(getattr(other, name), end)
            assert after == pytest.approx(scale * before, abs=tolerance)
    assert other.detectable == pytest.approx(scale * one.detectable, abs=tolerance)


def test_two_copies_of_an_arm_differ_by_exactly_nothing() -> None:
    """Interval [0, 0], p of 1, equal in every world, nothing detectable left open."""
    effect = with_differences(*[0.0] * 8)
    assert effect.difference == effect.middle == ConfidenceInterval(0.0, 0.0, 0.0)
    assert (effect.p, effect.p_adjusted, effect.verdict) == (1.0, 1.0, "equal")
    assert (effect.better, effect.equal, effect.improvement.value) == (0.5, 1.0, 0.5)


def test_a_constant_gain_has_an_interval_without_width() -> None:
    """All resamples have the same mean, although seven tenths over seven are not quite a tenth in binary."""
    effect = with_differences(*[0.1] * 7)
    assert effect.difference.low == effect.difference.high == pytest.approx(0.1)
    assert effect.p == 2 / 2**7
    assert effect.verdict == "helps"


def test_workloads_weigh_the_same_whatever_their_pairs() -> None:
    """A workload of which trials are missing is not a smaller one."""
    of = experiment(seeds=6)
    by_workload = {"web": 1.0, "batch": 4.0}
    whole = results(of, lambda arm, workload, *_: {SCORE: by_workload[workload] * (arm == ARM)})
    found = [row for row in whole if row.workload == "web" or row.seed <= 2]
    effect = primary(analyse(of, found))
    assert (effect.pairs, effect.difference.value) == (8, 2.5)
    assert (effect.arm_mean, effect.reference_mean) == (2.5, 0.0)
    assert (effect.better, effect.worst_tenth) == pytest.approx((1.0, 1.0))


def test_the_interval_contains_the_true_mean_in_19_of_20_draws() -> None:
    """Normal and skewed differences, 10 seeds on each of 4 workloads; 400 draws, wide bounds."""
    random = np.random.Generator(np.random.PCG64(5))
    normal = random.normal(size=(4, 10, 400)) * np.array([1.0, 2.0, 5.0, 0.1])[:, None, None]
    skewed = random.exponential(size=(4, 10, 400)) - 1.0
    for draws in (normal, skewed):
        found = mean_intervals(list(draws), 0.95, 600, 1)
        covered = float(((found.low <= 0.0) & (found.high >= 0.0)).mean())
        assert 0.90 <= covered <= 0.99


def test_resamples_stay_within_their_workload() -> None:
    """Workloads far apart, each without spread of its own, leave nothing to chance."""
    apart = [np.full((5, 1), level) for level in (-100.0, 0.0, 130.0)]
    found = mean_intervals(apart, 0.95, 300, 1)
    assert (float(found.low[0]), float(found.high[0])) == (10.0, 10.0)


def test_one_pair_has_no_interval() -> None:
    """NaN rather than a width of 0, and no verdict."""
    found = mean_intervals([np.array([[1.0]]), np.ones((5, 1))], 0.95, 200, 1)
    assert math.isnan(found.low[0])
    assert math.isnan(found.high[0])
    assert verdict_of(ConfidenceInterval(1.0, math.nan, math.nan), 1.0, 0.95) == "too few"


def test_a_sign_flip_p_value_is_a_count_of_flips() -> None:
    """Four differences: of 16 flips, as many as reach the observed ratio of mean to standard error."""
    values = np.array([3.0, 1.0, 2.0, -0.5])

    def ratio(one: np.ndarray) -> float:
        return abs(float(one.mean())) / (float(one.std(ddof=1)) / 2.0)

    flips = [ratio(values * np.array(signs)) for signs in product((1.0, -1.0), repeat=4)]
    expected = sum(flip >= ratio(values) - 1e-9 for flip in flips) / 16
    exact = SignFlips([values], 16, 1)
    assert exact.exact
    assert exact.p_values([values[:, None]])[0] == expected


def test_a_p_value_is_never_0() -> None:
    """Of 300 drawn flips none reaches twenty equal gains; the observed signs count as one more."""
    values = np.linspace(1.0, 1.1, 20)
    drawn = SignFlips([values], 300, 1)
    assert not drawn.exact
    assert drawn.p_values([values[:, None]])[0] == 1 / 301


def test_p_values_over_arms_are_holms() -> None:
    """A hand example: 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.04 raised to the one before; at most 1."""
    adjusted = holm({"d": 0.04, "a": 0.01, "c": 0.03, "b": 0.02})
    assert adjusted == pytest.approx({"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.06})
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}


def test_an_effects_p_value_counts_the_arms() -> None:
    """With two arms beside the reference the smaller p-value is doubled."""
    of = experiment(("none", "hpa", ARM), seeds=8)
    analysis = analyse(of, results(of, shifted({ARM: 1.0})))
    smaller = min(analysis.effects_on(SCORE), key=lambda effect: effect.p)
    assert smaller.p_adjusted == pytest.approx(min(1.0, 2 * smaller.p))


def test_the_interquartile_mean_leaves_the_outer_quarters_out() -> None:
    """Of eight differences the two lowest and two highest do not count."""
    effect = with_differences(-1_000.0, -5.0, 1.0, 2.0, 3.0, 4.0, 70.0, 900.0)
    assert effect.middle.value == pytest.approx(2.5)
    assert effect.middle.low <= 2.5 <= effect.middle.high


def test_the_probability_of_improvement_compares_all_seeds() -> None:
    """Arm 1, 3 against reference 2, 3: of four comparisons one won, one tied."""
    values = {
        (ARM, "web", 1): 1.0,
        (ARM, "web", 2): 3.0,
        (REFERENCE, "web", 1): 2.0,
        (REFERENCE, "web", 2): 3.0,
    }
    assert with_values(values).improvement.value == (1 + 0.5) / 4


def test_the_worst_seed_and_tenth_are_by_gain() -> None:
    """The lowest difference where more is better, the highest where less is."""
    higher = with_differences(*range(20))
    assert (higher.worst.seed, higher.worst.difference, higher.worst_tenth) == (1, 0.0, 0.5)
    lower = with_differences(*range(20), metric="slo_minutes")
    assert (lower.worst.seed, lower.worst.difference) == (20, 19.0)
    assert lower.worst_tenth == pytest.approx(18.5)


def test_a_tenth_counts_a_pair_in_part() -> None:
    """Of five pairs a tenth is half of the worst one."""
    assert with_differences(5.0, -3.0, 1.0, 2.0, 4.0).worst_tenth == pytest.approx(-3.0)


@pytest.mark.parametrize(
    ("metric", "verdict"), [(SCORE, "helps"), ("slo_minutes", "harms"), ("node_hours", "harms")]
)
def test_what_is_more_is_good_or_bad_by_the_metric(metric: str, verdict: str) -> None:
    """The same differences help where more is better and harm where less is."""
    effect = with_differences(1.0, 1.5, 2.0, 2.5, 1.0, 1.5, 2.0, 2.5, metric=metric)
    assert effect.difference.low > 0.0
    assert effect.verdict == verdict
    assert effect.gain.value == METRICS[metric].gain(effect.difference.value)


def test_harm_is_said_by_the_interval_alone_and_help_by_the_test_too() -> None:
    """An interval on one side of 0 with a p-value that says nothing."""
    assert verdict_of(ConfidenceInterval(-1.0, -2.0, -0.5), 0.9, 0.95) == "harms"
    assert verdict_of(ConfidenceInterval(1.0, 0.5, 2.0), 0.9, 0.95) == "unclear"
    assert verdict_of(ConfidenceInterval(1.0, 0.5, 2.0), 0.01, 0.95) == "helps"
    assert verdict_of(ConfidenceInterval(1.0, 0.0, 2.0), 0.01, 0.95) == "unclear"


def test_a_detectable_difference_is_seen_in_about_8_of_10_draws() -> None:
    """Normal differences whose mean is what the spread says could be seen; 300 draws, wide bounds."""
    random = np.random.Generator(np.random.PCG64(9))
    # (t of 0.975 + t of 0.8, 76 degrees of freedom) x standard error of 80 differences with a deviation of 1
    mean = (1.9917 + 0.8464) / math.sqrt(80)
    found = mean_intervals(list(random.normal(mean, 1.0, size=(4, 20, 300))), 0.95, 400, 1)
    assert 0.70 <= float((found.low > 0.0).mean()) <= 0.90
    effect = with_differences(-1.0, 1.0, -1.0, 1.0, -1.0, 1.0)
    error = math.sqrt(6 / 5 / 6)
    assert effect.detectable == pytest.approx((2.5706 + 0.9195) * error, rel=1e-3)


def test_many_resamples_are_drawn_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many of them, of the same kind: the interval is about the same."""
    values = [np.arange(10.0)[:, None]]
    whole = mean_intervals(values, 0.95, 3_000, 1)
    monkeypatch.setattr("lab.experiments.resampling.BLOCK_COUNTS", 500)
    parts = mean_intervals(values, 0.95, 3_000, 7)
    assert float(parts.low[0]) == pytest.approx(float(whole.low[0]), abs=0.3)
    assert float(parts.high[0]) == pytest.approx(float(whole.high[0]), abs=0.3)


def test_a_value_that_only_one_side_has_stays_with_the_effect() -> None:
    """So that whoever reads the effect sees what it leaves out."""
    of = experiment(seeds=6)
    found: list[TrialResult] = results(of, shifted({ARM: 1.0}))
    lacking = next(row for row in found if (row.arm, row.seed) == (ARM, 3))
    lacking.metrics.clear()
    effect = primary(analyse(of, found))
    assert [str(value) for value in effect.missing] == [f"{ARM} on {lacking.workload}, seed 3"]
    assert replace(effect, missing=()) != effect
