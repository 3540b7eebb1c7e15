"""Whether a gain holds when a price of the score is smaller or larger."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from lab.experiments.gate import judge
from lab.experiments.other_prices import other_prices
from lab.experiments.report import make_report
from lab.experiments.results import TrialResult
from lab.experiments.spec import SCORE, Experiment
from lab.experiments.statistics import analyse
from lab.experiments.tables import sections
from tests.lab.experiments import made_up

ARM = "baseline-rules"


def played(
    experiment: Experiment, slo_gain: float = 5.0, energy_loss: float = 1.0
) -> list[TrialResult]:
    """Return results in which an arm saves minutes outside the objective and uses more energy."""
    found = []
    for place, trial in enumerate(made_up.results(experiment, lambda *_: {SCORE: 0.0})):
        acted = trial.arm == ARM
        chance = 0.01 * (place % 7)
        components = {
            "slo_services": -20.0 + (slo_gain + chance if acted else 0.0),
            "energy": -3.0 - (energy_loss if acted else 0.0),
            "waiting/none": -1.0,
            "waiting/high": -2.0,
        }
        score = {SCORE: sum(components.values())}
        found.append(trial.model_copy(update={"components": components, "metrics": score}))
    return found


def with_factors(*factors: float) -> Experiment:
    """Return the small experiment whose gate asks for other prices."""
    one = made_up.experiment(arm=ARM)
    hypothesis = one.hypothesis.model_copy(update={"price_factors": factors})
    return one.model_copy(update={"hypothesis": hypothesis})


def test_one_price_is_multiplied_at_a_time() -> None:
    """Means and differences follow by hand; PriorityClasses are one price."""
    experiment = with_factors(3.0)
    analysis = analyse(experiment, played(experiment))
    found = {one.part: one.effect for one in other_prices(experiment, analysis.pairings[ARM])}

    assert set(found) == {"slo_services", "energy", "waiting"}
    assert found["slo_services"].difference.value == pytest.approx(14.0, abs=0.2)
    assert found["energy"].difference.value == pytest.approx(2.0, abs=0.2)
    assert found["waiting"].reference_mean == pytest.approx(-26.0 - 2 * 3.0)
    assert found["waiting"].difference.value == pytest.approx(4.0, abs=0.2)


@pytest.mark.parametrize(
    ("energy_loss", "passes", "word"),
    [
        (1.0, True, "lowest with a third of the price of slo_services"),
        (2.0, False, "with 3 times the price of energy"),
    ],
)
def test_the_gate_asks_for_the_gain_at_every_price(
    energy_loss: float, passes: bool, word: str
) -> None:
    """What is a gain at the default prices alone does not pass; the reason names the price."""
    experiment = with_factors(1.0 / 3.0, 3.0)
    answer = judge(analyse(experiment, played(experiment, 5.0, energy_loss)))

    assert answer.passes is passes
    assert any(word in reason for reason in answer.reasons)


def test_without_factors_the_gate_asks_for_the_default_prices_alone() -> None:
    """As before there were any."""
    experiment = with_factors()

    assert judge(analyse(experiment, played(experiment, 5.0, 2.0))).passes


def test_trials_without_parts_of_the_score_are_not_taken_for_robust() -> None:
    """Results of earlier versions cannot say."""
    experiment = with_factors(3.0)
    results = [one.model_copy(update={"components": {}}) for one in played(experiment)]
    answer = judge(analyse(experiment, results))

    assert any("other prices cannot be asked" in reason for reason in answer.reasons)


def test_the_report_has_a_table_of_other_prices() -> None:
    """A third and three times, also where the gate does not ask."""
    experiment = with_factors()
    report = make_report(experiment, played(experiment))
    (section,) = [one for one in sections(report) if one.kind == "prices"]

    assert _cells(section.table.rows, 1) == ["a third of", "3 times"] * 3


def _cells(rows: Sequence[Sequence[str]], column: int) -> list[str]:
    return [row[column] for row in rows]
