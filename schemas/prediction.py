"""Layer 3, prediction: failure risk and demand, with horizon, quantile, model id and why. Published
by inference.

Exactly one of each per cycle: a result, or `skipped` with the reason.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.model import EventData, Part
from schemas.numbers import Cycle, Ratio, Rounded, Seconds
from schemas.reasons import Reason
from schemas.tables import Table


class RiskTable(Table):
    """Failure risk by node; `ids` are node names."""

    risk_ratio: tuple[Ratio, ...] = ()
    """Probability (or the seed's score) that the node's workloads fail within the horizon."""


class DemandTable(Table):
    """Demand by node; `ids` are node names."""

    demand_ratio: tuple[Ratio, ...] = ()
    """Predicted demand / allocatable."""


class Contribution(Part):
    """How much one feature added to one prediction."""

    target: str
    feature: str
    value: Rounded | None
    """The feature's value; None when it is missing."""
    contribution: Rounded
    """In units of the prediction."""


class Prediction(EventData):
    """What both predictions share."""

    cycle: Cycle
    cluster_time_seconds: Seconds
    status: Literal["result", "skipped"]
    reason: Reason | None = None
    model_id: str
    """`seed-formula/1`, or a trained model's name and version."""
    horizon_seconds: Seconds
    quantile: Ratio | None = None
    """The quantile predicted; None for a point estimate."""
    features_hash: str
    """SHA-256 of the feature columns that the model read."""
    calibrated: bool
    """True when values are probabilities checked at the true base rate."""
    contributions: tuple[Contribution, ...] = ()
    """For targets above the lowest action threshold, at most 20."""


class PredictionRisk(Prediction):
    """Failure risk by node."""

    TYPE: ClassVar[str] = "foresail.prediction.risk.v1"
    PRODUCER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "risk")

    nodes: RiskTable


class PredictionDemand(Prediction):
    """Demand by node."""

    TYPE: ClassVar[str] = "foresail.prediction.demand.v1"
    PRODUCER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "demand")

    nodes: DemandTable
