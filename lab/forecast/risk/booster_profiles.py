"""The predecessors' four profiles of a booster; `booster_scoring` chooses among them as they did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class BoosterProfile:
    """Parameters of a booster, named as XGBoost's scikit-learn classes name them."""

    n_estimators: int
    max_depth: int
    learning_rate: float
    subsample: float
    colsample_bytree: float
    min_child_weight: float
    reg_alpha: float
    reg_lambda: float
    early_stopping_rounds: int


PROFILES: Mapping[str, BoosterProfile] = {
    "baseline_es": BoosterProfile(1_200, 8, 0.05, 0.8, 0.8, 5.0, 0.0, 1.0, 50),
    "regularized_balanced": BoosterProfile(1_600, 6, 0.03, 0.9, 0.7, 8.0, 0.2, 2.0, 80),
    "shallow_conservative": BoosterProfile(1_800, 5, 0.03, 0.9, 0.85, 12.0, 0.4, 3.0, 100),
    "wider_regularized": BoosterProfile(1_400, 7, 0.03, 0.85, 0.75, 6.0, 0.1, 1.5, 80),
}


def booster_parameters(profile: BoosterProfile) -> dict[str, float]:
    """Return a profile by XGBoost's own names, without the number of trees."""
    return {
        "max_depth": profile.max_depth,
        "eta": profile.learning_rate,
        "subsample": profile.subsample,
        "colsample_bytree": profile.colsample_bytree,
        "min_child_weight": profile.min_child_weight,
        "alpha": profile.reg_alpha,
        "lambda": profile.reg_lambda,
    }


DEFAULT_PROFILE = "baseline_es"
PARAMETERS = tuple(field.name for field in fields(BoosterProfile))
