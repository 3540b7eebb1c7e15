"""What a demand model says of itself: factors and thresholds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lab.forecast.demand.origins import origins_of
from lab.forecast.demand.quantile import learning_rows
from lab.forecast.demand.released import BUDGETS, CalibrationSample, calibration, demand_thresholds
from lab.forecast.demand.series import Family, Series
from lab.forecast.demand.split import Horizon, parts_of
from tests.forecast.demand.made import wave

HOUR = Horizon(0, 12)


def sample(needed: list[float]) -> CalibrationSample:
    """Return one family's calibration rows at p90."""
    return CalibrationSample(
        HOUR, (0.5, 0.9), np.array([[1.0, one] for one in needed]), np.empty(0)
    )


def test_a_factor_makes_its_quantile_hold() -> None:
    """Nine of ten rows need at most the factor; a row near the mean does not count."""
    actual = calibration(0.9, [sample([*np.arange(1.0, 11.0), math.nan])])
    assert (actual.kind, actual.factor) == ("factor", 9.0)
    assert calibration(0.5, [sample([3.0])]).kind == "none"
    assert calibration(0.9, [sample([math.nan])]).kind == "none"


def test_families_weigh_the_same_whatever_their_size() -> None:
    """A hundred rows of one family do not outvote ten of another."""
    actual = calibration(0.9, [sample([1.0] * 100), sample([2.0] * 8 + [5.0] * 2)])
    assert actual.factor == 2.0


def test_thresholds_rise_strictly_and_keep_their_budgets() -> None:
    """One, five and ten of a hundred lie below or at the thresholds; ties are told apart."""
    assert list(demand_thresholds([np.arange(1, 101) / 100]).values()) == [0.01, 0.05, 0.10]
    tied = list(demand_thresholds([np.zeros(50)]).values())
    assert tied == sorted(set(tied))
    assert demand_thresholds([]) == {}
    assert list(BUDGETS) == ["sleep_demand_ratio", "dvfs_demand_ratio", "balloon_demand_ratio"]


def test_rows_weigh_by_what_was_known_at_their_origin() -> None:
    """The weight of a training row does not change when the series later grows tenfold."""
    values = wave(400, 5)
    later = np.concatenate([values[:330], 10 * values[330:]])
    weights = []
    for series in (values, later):
        family = Family("f", "cpu", "u", (Series("a", 0, series),), 330, 3, unseen_owners=False)
        rows = origins_of(family, [12])
        part = parts_of(family, rows, HOUR).fit
        weights.append(learning_rows(rows, part, HOUR).weights)
    assert weights[0].tobytes() == weights[1].tobytes()
    assert weights[0].mean() == pytest.approx(math.sqrt(5000 / len(weights[0])))
