"""A policy may act only where a gain over the best simple rule is shown and nothing is harmed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lab.learning.comparison.benchmark import Arm, Played
from lab.learning.comparison.gate import judge_gate, with_gate
from lab.learning.comparison.judgement import WorkloadJudgement, judge_workload
from services.learned_policy.card import PolicyCard


def _workload(
    factor: float,
    *,
    streams: int = 40,
    unfinished: float = 0.0,
    longest: float = 20.0,
    noise: float = 0.02,
) -> WorkloadJudgement:
    draws = np.random.default_rng(5)
    rule = draws.uniform(4.0, 6.0, (1, streams))
    ours = factor * rule * draws.normal(1.0, noise, (1, streams))
    zeros = np.zeros_like(rule)
    others = dict.fromkeys(("wait_minutes", "completed", "utilization_percent"), zeros)
    of_rule = {"unfinished": zeros, "longest_wait_hours": zeros + 20.0, **others}
    of_ours = {"unfinished": zeros + unfinished, "longest_wait_hours": zeros + longest, **others}
    nobody = (lambda: lambda cluster: None,)
    played = [
        Played(Arm("sjf+fit", nobody), {"slowdown": rule, **of_rule}),
        Played(Arm("ours", nobody, learned=True), {"slowdown": ours, **of_ours}),
    ]
    return judge_workload(f"jobs-{factor:g}", "sjf+fit", played, 0)


def test_a_gain_passes() -> None:
    """A tenth less slowdown on forty streams passes, and the reason is the gain."""
    answer = judge_gate([_workload(0.9)], "ours")
    assert answer.passes
    assert "below sjf+fit's" in answer.reasons[0]


@pytest.mark.parametrize(
    ("judged", "why"),
    [
        ([{"factor": 1.0, "noise": 0.3}], "shown on no workload"),
        ([{"factor": 0.9}, {"factor": 1.2}], "jobs-1.2: slowdown above"),
        ([{"factor": 0.9, "unfinished": 1.0}], "jobs unfinished"),
        ([{"factor": 0.5, "longest": 40.0}], "longest wait, h 40, 20 by sjf+fit"),
        ([{"factor": 0.9, "streams": 5}], "20 are asked for"),
    ],
)
def test_what_is_not_shown_or_harmed_does_not_pass(judged: list[dict[str, Any]], why: str) -> None:
    """No gain, a loss elsewhere, jobs left behind, and too few streams: each refuses with its reason."""
    answer = judge_gate([_workload(**one) for one in judged], "ours")
    assert not answer.passes
    assert any(why in reason for reason in answer.reasons)


def test_the_card_holds_the_answer() -> None:
    """Only with a passed gate of its own weights may the policy act, and the figures stand beside it."""
    card = PolicyCard(
        name="ours", algorithm="PPO", preset="foresail", environment="Foresail/KueueAdmission-v1",
        observation="wide-10.v1", observation_count=103, kind="choice", action_count=11, masked=True, seed=0,
        steps=1, weights_sha256="a" * 64,
    )  # fmt: skip
    judged = [_workload(0.9)]
    passed = with_gate(card, judged, judge_gate(judged, "ours"), "code")
    assert passed.may_act
    assert passed.figures[0].value == pytest.approx(0.9 * 5.0, rel=0.1)
    failing = [_workload(1.2)]
    failed = with_gate(card, failing, judge_gate(failing, "ours"), "code")
    assert not failed.may_act
    assert "did not pass" in failed.why_not()
