"""The baseline formula, number by number."""

from __future__ import annotations

from typing import Any

import pytest

from features.live.columns import feature_columns
from services.inference.formula import BaselineFormula
from services.inference.predictor import Forecast
from services.inference.state import InferenceState, Outputs, evolve
from tests.builders import make_observation, stamp_event


def predict(row: dict[str, Any], *, use_measured: bool = False) -> Forecast:
    """Return what the formula says of one node."""
    state = evolve(InferenceState(), stamp_event(make_observation({"node-0": row})), Outputs())
    assert state.view is not None
    formula = BaselineFormula(60.0, use_measured)
    return formula.predict(feature_columns(state.view, formula.features, formula.signals))


@pytest.mark.parametrize(
    ("cpu", "memory", "unhealthy", "restarted", "risk", "demand"),
    [
        (0.0, 0.0, 0, 0, 0.0, 0.0),
        (1.0, 1.0, 0, 0, 0.9, 0.9),
        (0.6, 0.4, 0, 0, 0.47, 0.47),
        (0.6, 0.4, 0, 1, 0.7, 0.47),
        (0.6, 0.4, 1, 0, 0.95, 0.47),
        (0.6, 0.4, 3, 5, 0.95, 0.47),
        (1.0, 1.0, 0, 1, 0.9, 0.9),
    ],
)
def test_risk_is_the_greater_of_health_and_load(
    cpu: float, memory: float, unhealthy: int, restarted: int, risk: float, demand: float
) -> None:
    """risk = max(health, 0.55 cpu + 0.35 memory) and demand is the load alone."""
    forecast = predict(
        {
            "cpu_requested_ratio": cpu,
            "memory_requested_ratio": memory,
            "unhealthy_pods": unhealthy,
            "restarted_pods": restarted,
        }
    )

    assert forecast == Forecast((risk,), (demand,))


def test_measured_load_replaces_requests_only_where_there_is_a_measurement() -> None:
    """With use_measured the formula reads usage, and requests where usage is missing."""
    row = {"cpu_requested_ratio": 1.0, "memory_requested_ratio": 1.0, "cpu_used_ratio": 0.2}

    assert predict(row).demand_ratio == (0.9,)
    assert predict(row, use_measured=True).demand_ratio == (0.46,)


def test_measured_usage_above_allocatable_counts_as_full() -> None:
    """Usage over 1 is clipped, as requests are."""
    row = {"cpu_used_ratio": 1.8, "memory_used_ratio": 1.0}

    assert predict(row, use_measured=True).demand_ratio == (0.9,)


def test_another_formula_has_another_model_id() -> None:
    """Reading measured load changes results, so it changes the model id."""
    assert BaselineFormula(60.0).model_id == "seed-formula/1"
    assert BaselineFormula(60.0, use_measured=True).model_id != "seed-formula/1"
