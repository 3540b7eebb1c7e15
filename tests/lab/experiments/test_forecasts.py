"""A forecast is as good as it is better than a constant."""

from __future__ import annotations

import pytest

from lab.experiments.forecasts import ForecastSkill
from schemas.outcome import ForecastScore, OutcomeForecast


def _scored(
    brier: float, targets: int = 10, positives: int = 2, at: float = 100.0, slot: int = 0
) -> OutcomeForecast:
    risk = ForecastScore(targets=targets, uncertain=0, positives=positives, brier=brier)
    return OutcomeForecast(
        cycle=1, cluster_time_seconds=at, observed_cycle=2, model_id="m", horizon_seconds=60.0, risk=risk,
        demand=None, slot=slot,
    )  # fmt: skip


def test_a_constant_has_no_skill_and_a_seer_all() -> None:
    """Two of ten failed: the constant's Brier score is 0.16; what errs half as much has a skill of a half."""
    for brier, skill in ((0.16, 0.0), (0.0, 1.0), (0.08, 0.5), (0.32, -1.0)):
        tally = ForecastSkill(0.0)
        tally.take(_scored(brier))
        assert tally.metrics() == {"forecast_skill": pytest.approx(skill)}


def test_scores_weigh_by_their_targets() -> None:
    """Three tenths of forty targets, and nothing wrong with ten: the constant knows of both."""
    tally = ForecastSkill(0.0)
    tally.take(_scored(0.3, targets=40, positives=20))
    tally.take(_scored(0.0, targets=10, positives=0))
    assert tally.metrics()["forecast_skill"] == pytest.approx(1.0 - 0.24 / (0.4 * 0.6))


def test_only_the_active_model_after_the_warm_up_counts() -> None:
    """Shadow models, what was scored before, and targets that all came out alike say nothing."""
    tally = ForecastSkill(100.0)
    tally.take(_scored(0.9, at=99.0))
    tally.take(_scored(0.9, slot=1))
    assert tally.metrics() == {}
    tally.take(_scored(0.0, positives=0))
    assert tally.metrics() == {}
    tally.take(_scored(0.0, positives=10))
    assert tally.metrics() == {"forecast_skill": 1.0}
