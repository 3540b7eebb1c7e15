"""The predictor interface.

What a model, trained or a formula, must offer so that inference can run it.

A predictor is pure: equal features give equal numbers. It names itself (`model_id`), so that a
changed model shows in every prediction. Constructors are registered by the model's name; the
version is the model's own affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from features.live.columns import FeatureColumns, Number


@dataclass(frozen=True, slots=True)
class Forecast:
    """Forecast of a predictor for all nodes, one number per row of the features."""

    risk_ratio: tuple[float, ...]
    """Probability (or score) that the node's workloads fail within the horizon."""
    demand_ratio: tuple[float, ...]
    """Predicted demand / allocatable."""


@dataclass(frozen=True, slots=True)
class FeatureContribution:
    """How much one feature added to one prediction, in units of the prediction."""

    feature: str
    value: Number
    contribution: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why one node got its numbers; the terms of each add up to the number itself."""

    risk: tuple[FeatureContribution, ...]
    demand: tuple[FeatureContribution, ...]


class Predictor(Protocol):
    """A model that predicts risk and demand by node."""

    @property
    def model_id(self) -> str:
        """Name and version, e.g. `seed-formula/1`.

        Never the same for two models that can differ in a number.
        """
        ...

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features read, in the order in which `predict` wants them."""
        ...

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the observation's signals without which it cannot predict."""
        ...

    @property
    def horizon_seconds(self) -> float:
        """Cluster seconds that the predictions reach ahead."""
        ...

    @property
    def quantile(self) -> float | None:
        """Quantile of the demand prediction; None for a point estimate."""
        ...

    @property
    def calibrated(self) -> bool:
        """Whether risks are probabilities that were checked at the true base rate."""
        ...

    def predict(self, features: FeatureColumns) -> Forecast:
        """Return one risk and one demand per row."""
        ...

    def explain(self, features: FeatureColumns, row: int) -> Explanation:
        """Return the terms of one row's predictions."""
        ...


class PredictorFactory(Protocol):
    """Makes a predictor from what the settings say."""

    def __call__(self, *, horizon_seconds: float, use_measured: bool) -> Predictor:
        """Return the predictor."""
        ...


Registry = Mapping[str, PredictorFactory]
"""Model id to constructor."""
