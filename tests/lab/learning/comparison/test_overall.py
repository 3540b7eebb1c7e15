"""All workloads together, and what one part of a training is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import trim_mean

from lab.learning.comparison.ablations import ablations, one_difference
from lab.learning.comparison.benchmark import MEASURES, Arm, Played
from lab.learning.comparison.judgement import WorkloadJudgement, headlines, judge_workload
from lab.learning.comparison.overall import overall
from lab.learning.comparison.report import Report

PLAN: dict[str, Any] = {
    "arguments": {"reward": "score"}, "masked": True, "imitates": "", "recipe": {"hyper_parameters": {"gamma": 0.9}},
}  # fmt: skip


def _arm(name: str, seeds: int, plan: dict[str, Any] | None = None) -> Arm:
    return Arm(name, (lambda: lambda cluster: None,) * seeds, learned=plan is not None, plan=plan)


def _judged(workload: str, unit: float, factors: dict[str, float]) -> WorkloadJudgement:
    """Return a workload on which each policy's slowdown is so many times the rule's, give or take."""
    draws = np.random.default_rng(3)
    rule = unit * draws.uniform(4.0, 6.0, (1, 20))
    others = dict.fromkeys(MEASURES, np.zeros_like(rule))
    played = [Played(_arm("rule", 1), {**others, "slowdown": rule})]
    plans = {"whole": PLAN, "no-mask": {**PLAN, "masked": False}}
    for name, factor in factors.items():
        values = factor * rule * draws.normal(1.0, 0.02, (5, 20))
        played.append(Played(_arm(name, 5, plans[name]), {**others, "slowdown": values}))
    return judge_workload(workload, "rule", played, 0)


def test_a_workload_with_large_numbers_counts_no_more() -> None:
    """Half on one workload and twice on the other: the ratios of both are in the middle, whatever their unit."""
    judged = [_judged("small", 1.0, {"whole": 0.5}), _judged("large", 1_000.0, {"whole": 2.0})]
    whole = next(one for one in overall(judged, 0) if one.arm.name == "whole")
    ratios = [
        one.played.values["slowdown"] / judged[place].standings[1 - spot].played.values["slowdown"]
        for place, each in enumerate(judged)
        for spot, one in enumerate(each.standings)
        if one.played.arm.name == "whole"
    ]
    assert whole.interquartile.value == pytest.approx(
        float(trim_mean(np.concatenate(ratios).ravel(), 0.25))
    )
    assert whole.mean.low < whole.mean.value < whole.mean.high
    assert [round(share.value, 2) for share in whole.profile][3] == 0.5
    (line,) = headlines(judged).values()
    assert line == (
        "whole beat the best simple rule on 1 of 2 workloads (small); was worse on 1 (large)."
    )


def test_what_a_mask_is_worth() -> None:
    """Without it twice the slowdown is a gain of -1 with an interval that excludes 0, in words in the report."""
    judged = [_judged("lublin", 1.0, {"whole": 1.0, "no-mask": 2.0})]
    (found,) = ablations(judged, "whole")
    assert found.difference == "without the mask"
    assert found.gain.value == pytest.approx(-1.0, abs=0.05)
    assert found.gain.excludes_zero
    text = Report(judged, overall(judged, 0), [], "whole").markdown()
    assert "| no-mask | without the mask | lublin | 5 |" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"arguments": {"reward": "skrueue"}}, "reward skrueue instead of score"),
        ({"arguments": {"reward": "score", "hidden": "history"}}, "without history"),
        ({"recipe": {"hyper_parameters": {"gamma": 0.5}}}, "gamma 0.5 instead of 0.9"),
        ({}, None),
        ({"masked": False, "imitates": "sjf+fit"}, None),
    ],
)
def test_one_thing_differs_or_it_is_no_ablation(changes: dict[str, Any], words: str | None) -> None:
    """Equal plans and those that differ in two things say nothing of any one."""
    assert one_difference(_arm("whole", 1, PLAN), _arm("other", 1, {**PLAN, **changes})) == words
