"""The gate says yes only to a gain that is shown, within its guards, with nothing missing; chance does not pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from bus.exit_codes import ExitCode
from lab.experiments.gate import GateResult, judge, shown_gains
from lab.experiments.null_test import measure_null_rate
from lab.experiments.results import TrialResult
from lab.experiments.spec import Experiment, Inference
from lab.experiments.statistics import analyse
from tests.lab.experiments.made_up import SCORE, Metrics, experiment, results, shifted

ARM = "baseline-rules"
GUARD = {"metric": "slo_minutes", "margin": 2.0}


def both(score: float, slo: float, noise: float = 0.5) -> Metrics:
    """Return draws of score and SLO minutes that differ so much by acting."""
    scores = shifted({ARM: score}, noise)
    minutes = shifted({ARM: slo}, noise, "slo_minutes")

    def draw(*place: Any) -> Mapping[str, float]:
        return {**scores(*place), **minutes(*place)}

    return draw


def answer(
    score: float, slo: float = 0.0, guards: Sequence[Mapping[str, Any]] = (GUARD,), seeds: int = 10
) -> GateResult:
    """Return the gate's answer to such draws."""
    of = experiment(seeds=seeds, guards=guards)
    return judge(analyse(of, results(of, both(score, slo))))


def test_a_clear_gain_within_its_guards_passes() -> None:
    """Code 0; what was looked at stands there with intervals."""
    found = answer(2.0)
    assert found.passes
    assert found.exit_code == ExitCode.GOOD
    assert len(found.reasons) == 2
    assert "baseline-rules helps" in found.reasons[0]
    assert "95% interval" in found.reasons[0]


def test_an_interval_that_contains_0_fails() -> None:
    """Code 1, and the reason names it."""
    found = answer(0.01)
    assert found.exit_code == ExitCode.DIFFERS
    assert ["the interval contains 0" in reason for reason in found.reasons] == [True]


def test_a_loss_is_called_harm() -> None:
    """An interval wholly on the wrong side."""
    found = answer(-2.0)
    assert not found.passes
    assert found.reasons[0].endswith("baseline-rules harms")


def test_copies_of_an_arm_do_not_pass() -> None:
    """Nothing was gained, however many worlds."""
    of = experiment()
    found = judge(analyse(of, results(of, shifted({}, noise=0.0))))
    assert found.reasons == (
        f"{ARM} against none on {SCORE}: 0 $/h (95% interval 0 to 0): every world came out the same",
    )


@pytest.mark.parametrize(
    ("slo", "text"), [(1.75, "reaches beyond it"), (9.0, "lies beyond it: it harms")]
)
def test_a_guards_whole_interval_has_to_lie_within(slo: float, text: str) -> None:
    """A mean within the margin is not enough; beyond it altogether is harm."""
    found = answer(2.0, slo)
    assert [text in reason for reason in found.reasons] == [True]
    assert "guard slo_minutes" in found.reasons[0]


def test_a_guard_looks_at_the_bad_side_alone() -> None:
    """Better by far more than the margin is no reason to fail."""
    assert answer(2.0, -30.0).passes


@pytest.mark.parametrize(("margin", "passes"), [(0.02, False), (0.2, True)])
def test_a_margin_may_be_a_part_of_the_references_mean(margin: float, passes: bool) -> None:
    """The mean is about 20 minutes: 1 minute worse is within a fifth, not within a fiftieth."""
    guard = {"metric": "slo_minutes", "margin": margin, "relative": True}
    assert answer(2.0, 1.0, [guard]).passes is passes


def test_a_guard_that_applies_nowhere_fails() -> None:
    """It was not held, so it does not hold."""
    found = answer(2.0, guards=[{"metric": "jobs_failed", "margin": 1.0}])
    assert ["no pair of trials has it" in reason for reason in found.reasons] == [True]


def drawn() -> tuple[Experiment, list[TrialResult]]:
    """Return an experiment with a clear gain."""
    of = experiment()
    return of, results(of, shifted({ARM: 2.0}))


def test_a_missing_trial_fails() -> None:
    """It is named; of many, three are."""
    of, found = drawn()
    gone = judge(analyse(of, found[:-1]))
    assert gone.reasons == ("1 trials have no result: baseline-rules on batch, seed 10",)
    most = judge(analyse(of, found[:20]))
    assert "20 trials have no result" in most.reasons[0]
    assert most.reasons[0].endswith("and 17 more")


def test_a_value_that_one_arm_alone_has_fails() -> None:
    """An arm does not pass by having no figure in the hardest world."""
    of, found = drawn()
    next(row for row in found if row.arm == ARM).metrics.clear()
    (reason,) = judge(analyse(of, found)).reasons
    assert f"{SCORE} is there for only one of two trials in 1 worlds" in reason


def test_few_pairs_fail() -> None:
    """Fewer than five of a workload, however clear the gain."""
    assert answer(2.0, seeds=5).passes
    found = answer(2.0, seeds=4)
    assert not found.passes
    assert any("too few pairs (batch 4, web 4)" in reason for reason in found.reasons)


def test_an_experiment_without_results_fails() -> None:
    """Nothing was tried."""
    found = judge(analyse(experiment(), []))
    assert not found.passes
    assert f"no pair of trials has {SCORE}" in found.reasons


def test_no_workload_of_the_split_fails() -> None:
    """All of them are for development."""
    found = judge(analyse(experiment(), [], "test"))
    assert "no workload belongs to the test split" in found.reasons


def test_few_lucky_worlds_are_not_enough() -> None:
    """Four worlds of eighty differ, all for the better: one in sixteen coins would do the same."""
    rare = [np.zeros(20) for _ in range(4)]
    rare[0][:4] = 1.0
    signs = [np.ones((20, 1))] * 4
    assert not shown_gains(rare, signs, Inference(resamples=2_000))[0]
    rare[0][:16] = 1.0
    assert shown_gains(rare, signs, Inference(resamples=2_000))[0]


@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
def test_the_null_test_asks_what_the_gate_asks(shift: float) -> None:
    """With all signs as they are it answers as the gate does on the hypothesis."""
    of = experiment()
    analysis = analyse(of, results(of, shifted({ARM: shift})))
    strata = analysis.pairings[ARM].paired(SCORE).strata
    gains = [stratum.difference for stratum in strata]
    (shown,) = shown_gains(gains, [np.ones((10, 1))] * 2, of.inference)
    assert bool(shown) is judge(analysis).passes


@pytest.mark.parametrize("kind", ["normal", "skewed", "rare", "one workload"])
def test_chance_passes_the_gate_at_most_in_one_of_twenty(kind: str) -> None:
    """Random signs on stored differences; 10,000 of them by `python -m benchmarks.gate_errors`."""
    random = np.random.Generator(np.random.PCG64(3))
    gains = {
        "normal": random.normal(size=(4, 5)),
        "skewed": random.lognormal(0.0, 1.5, size=(4, 5)) - 1.0,
        "rare": (random.random((4, 5)) < 0.3) * 1.0,
        "one workload": random.normal(size=(4, 5)) * np.array([[0.0], [0.0], [0.0], [1.0]]),
    }[kind]
    asked: list[int] = []
    found = measure_null_rate(list(gains), Inference(resamples=500), 1_000, 2, asked.append)
    assert found.flips == sum(asked) == 1_000
    assert found.high <= 0.05


def test_a_gain_passes_although_chance_does_not() -> None:
    """The null test's rule is no rule that nothing passes."""
    gains = [np.random.Generator(np.random.PCG64(4)).normal(1.0, 1.0, size=20)] * 4
    assert shown_gains(gains, [np.ones((20, 1))] * 4, Inference(resamples=500))[0]
