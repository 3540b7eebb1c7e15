"""Results pair by workload and seed, and whatever cannot be paired is named."""

from __future__ import annotations

import math
from random import Random

import pytest

from bus.errors import InputError
from lab.experiments.pairing import Trials
from lab.experiments.results import TrialResult
from tests.lab.experiments.made_up import SCORE, experiment, results, shifted

ARM, REFERENCE = "baseline-rules", "none"


def drawn() -> list[TrialResult]:
    """Return whole results of the small experiment."""
    return results(experiment(), shifted({ARM: 1.0}))


def pick(found: list[TrialResult], arm: str, workload: str, seed: int) -> TrialResult:
    """Return one of them."""
    (one,) = (row for row in found if (row.arm, row.workload, row.seed) == (arm, workload, seed))
    return one


def test_a_pair_is_one_world() -> None:
    """Both sides have the pair's workload and seed, whatever the results' order."""
    found = drawn()
    Random(3).shuffle(found)
    pairing = Trials(experiment(), found).pair(ARM, REFERENCE)
    assert len(pairing.pairs) == 20
    for pair in pairing.pairs:
        for side, arm in ((pair.arm, ARM), (pair.reference, REFERENCE)):
            assert (side.arm, side.workload, side.seed) == (arm, pair.workload, pair.seed)


@pytest.mark.parametrize("arm", [ARM, REFERENCE])
def test_a_trial_without_a_result_is_named(arm: str) -> None:
    """The world leaves the pairs and stands among what is missing, whichever side lacks."""
    found = drawn()
    found.remove(pick(found, arm, "web", 4))
    pairing = Trials(experiment(), found).pair(ARM, REFERENCE)
    assert len(pairing.pairs) == 19
    assert [str(trial) for trial in pairing.missing] == [f"{arm} on web, seed 4"]


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_a_value_that_one_side_lacks_is_named(value: float | None) -> None:
    """Neither left out quietly nor taken for 0; what is no number is none."""
    found = drawn()
    one = pick(found, ARM, "batch", 7)
    one.metrics.pop(SCORE) if value is None else one.metrics.update({SCORE: value})
    paired = Trials(experiment(), found).pair(ARM, REFERENCE).paired(SCORE)
    assert [str(entry) for entry in paired.one_sided] == [f"{ARM} on batch, seed 7"]
    assert {stratum.workload: len(stratum.seeds) for stratum in paired.strata} == {
        "batch": 9,
        "web": 10,
    }


def test_a_workload_without_the_metric_on_either_side_does_not_count() -> None:
    """No requests on a batch workload are no missing values."""
    found = [
        row.model_copy(update={"metrics": {}}) if row.workload == "batch" else row
        for row in drawn()
    ]
    paired = Trials(experiment(), found).pair(ARM, REFERENCE).paired(SCORE)
    assert [stratum.workload for stratum in paired.strata] == ["web"]
    assert paired.missing == ()


def test_two_different_results_at_one_place_are_refused() -> None:
    """One line that names the trial; two equal ones are one."""
    found = drawn()
    again = pick(found, ARM, "web", 2).model_copy(deep=True)
    assert len(Trials(experiment(), [*found, again]).pair(ARM, REFERENCE).pairs) == 20
    again.metrics[SCORE] += 1.0
    with pytest.raises(InputError, match="baseline-rules on web, seed 2"):
        Trials(experiment(), [*found, again])


def test_results_of_nobody_are_named_and_not_used() -> None:
    """Of another arm, workload, seed or split."""
    found = drawn()
    one = found[0]
    strange = [
        one.model_copy(update=change)
        for change in ({"arm": "hpa"}, {"workload": "other"}, {"seed": 99}, {"seed": 1_000_001})
    ]
    trials = Trials(experiment(), [*found, *strange])
    assert len(trials.surplus) == 4
    assert trials.pair(ARM, REFERENCE) == Trials(experiment(), found).pair(ARM, REFERENCE)
