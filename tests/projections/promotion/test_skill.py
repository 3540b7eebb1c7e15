"""Brier skill and lift with their intervals, against figures made by hand."""

from __future__ import annotations

import math

import pytest

from projections.promotion.settings import PromotionSettings
from projections.promotion.skill import interval_of, lift_of, skill_of, total_of
from projections.promotion.sums import GROUPS, ModelSums, ScoredTarget, group_of
from projections.quantiles import student_quantile

SETTINGS = PromotionSettings(when="on")


def sums_of(blocks: list[list[ScoredTarget]]) -> ModelSums:
    """Return the sums of predictions, a list for each block."""
    sums = ModelSums(slot=1, model_id="m/1")
    for number, scored in enumerate(blocks):
        sums = sums.plus(number * SETTINGS.block_seconds, scored, 0, SETTINGS)
    return sums


def target(name: str, ratio: float, *, failed: bool, weight: float = 1.0) -> ScoredTarget:
    """Return a scored prediction; an alarm from one half on."""
    return ScoredTarget(name, ratio, failed, ratio >= 0.5, weight)


def spread_names(count: int) -> list[str]:
    """Return names of nodes that are all in different groups."""
    by_group: dict[int, str] = {}
    number = 0
    while len(by_group) < count:
        by_group.setdefault(group_of(f"n{number}"), f"n{number}")
        number += 1
    return list(by_group.values())[:count]


def test_skill_is_against_the_constant_that_knew_the_rate() -> None:
    """Of four one fails: a constant of one quarter has 0.1875; this model 0.05."""
    rows = [
        target("a", 0.6, failed=True), target("b", 0.2, failed=False),
        target("c", 0.0, failed=False), target("d", 0.0, failed=False),
    ]  # fmt: skip
    total = total_of(sums_of([rows]).every)
    assert total.constant_brier == pytest.approx(0.1875)
    assert skill_of(total) == pytest.approx(1.0 - 0.05 / 0.1875)
    assert lift_of(total) == pytest.approx(4.0)


def test_a_node_left_on_purpose_stands_for_those_acted_upon() -> None:
    """Left with a propensity of one in ten it weighs ten, in the rate and in the errors."""
    rows = [target("a", 0.5, failed=True, weight=10.0), target("b", 0.1, failed=False)]
    sums = sums_of([rows])
    total = total_of(sums.every)
    assert (total.weight, total.failed) == (11.0, 10.0)
    assert total.squares == pytest.approx(10 * 0.25 + 0.01)
    assert (sums.counts.targets, sums.counts.left) == (2, 1)


def test_the_interval_is_a_jackknife_of_blocks_or_of_groups_whichever_is_wider() -> None:
    """Three blocks of three nodes, errors that differ by block only: the blocks decide, by the textbook's formula."""
    names = spread_names(3)
    ratios = (0.9, 0.6, 0.5)
    blocks = [
        [target(name, ratio if name == fails else 0.0, failed=name == fails) for name in names]
        for ratio, fails in zip(ratios, names, strict=True)
    ]
    interval = interval_of(sums_of(blocks), skill_of, 0.95)

    errors = [(1.0 - ratio) ** 2 for ratio in ratios]
    constant = (1.0 / 3.0) * (2.0 / 3.0)
    without = [1.0 - (sum(errors) - one) / 6.0 / constant for one in errors]
    mean = sum(without) / 3.0
    error = math.sqrt(2.0 / 3.0 * sum((one - mean) ** 2 for one in without))
    reach = student_quantile(0.975, 2) * error
    assert interval.value == pytest.approx(1.0 - sum(errors) / 9.0 / constant)
    assert interval.high is not None
    assert interval.low is not None
    assert interval.high - interval.low == pytest.approx(2.0 * reach)


def test_a_few_nodes_that_decide_make_the_interval_wide() -> None:
    """The same errors in every block, but by node: leaving out blocks changes nothing, leaving out nodes does."""
    names = spread_names(3)
    rows = [
        target(name, ratio, failed=True) for name, ratio in zip(names, (0.9, 0.6, 0.5), strict=True)
    ]
    rows += [target(name, 0.0, failed=False) for name in names]
    interval = interval_of(sums_of([rows] * 4), skill_of, 0.95)
    assert interval.value is not None
    assert interval.low is not None
    assert interval.value - interval.low > 0.5


def test_a_figure_that_rests_on_one_cluster_has_no_interval() -> None:
    """Leave that one out and nothing is known: so nothing is known with it either."""
    names = spread_names(4)
    calm = [target(name, 0.1, failed=False) for name in names]
    burst = [target(name, 0.1, failed=True) for name in names]
    assert interval_of(sums_of([burst, calm, calm]), skill_of, 0.95).low is None
    assert interval_of(sums_of([calm, calm]), skill_of, 0.95).value is None


def test_every_node_is_in_one_of_the_groups() -> None:
    """All groups are used, and a node never changes its own."""
    groups = [group_of(f"node-{number}") for number in range(500)]
    assert set(groups) == set(range(GROUPS))
    assert groups == [group_of(f"node-{number}") for number in range(500)]


def test_blocks_before_the_window_are_forgotten() -> None:
    """What a model was worth yesterday says nothing of it today."""
    rows = [target("a", 0.5, failed=True)]
    sums = sums_of([rows] * 30)
    kept = sums.within(30 * SETTINGS.block_seconds, SETTINGS)
    assert [one.number for one in kept.blocks] == list(range(6, 30))
