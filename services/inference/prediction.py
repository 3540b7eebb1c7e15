"""From an observation to both predictions: the pure middle of inference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from schemas.prediction import (
    Contribution,
    DemandTable,
    PredictionDemand,
    PredictionRisk,
    RiskTable,
)
from schemas.reasons import Reason
from schemas.signals import SignalStatus
from schemas.view import ObservationView, OpenCycle
from services.inference.features import FeatureColumns, feature_columns, features_hash
from services.inference.predictor import Predictor, Term

NO_FEATURES = FeatureColumns((), {})


@dataclass(frozen=True, slots=True)
class ExplainLimits:
    """Which targets are explained: those an agent could act upon, the most urgent first."""

    risk_ratio: float
    demand_ratio: float
    targets: int


Pair = tuple[PredictionRisk, PredictionDemand]


def unpredictable(
    view: ObservationView | None, cycle: int, signals: Sequence[str]
) -> Reason | None:
    """Return why this cycle cannot be predicted; None when it can.

    Stale signals are predicted from: judging age is the agents' task, and they see the same ages.
    """
    if view is None or view.cycle != cycle:
        return Reason.MISSING_SIGNAL
    for name in signals:
        signal = view.signal(name)
        if signal is None or signal.status is SignalStatus.MISSING:
            return Reason.MISSING_SIGNAL
    return None if len(view.nodes) else Reason.NO_NODES


def skipped(predictor: Predictor, cycle: OpenCycle, reason: Reason) -> Pair:
    """Return both predictions of a cycle that is not predicted."""
    fields = _shared(predictor, cycle, NO_FEATURES)
    return (
        PredictionRisk(**fields, status="skipped", reason=reason, nodes=RiskTable()),
        PredictionDemand(**fields, status="skipped", reason=reason, nodes=DemandTable()),
    )


def predicted(
    predictor: Predictor, cycle: OpenCycle, view: ObservationView, limits: ExplainLimits
) -> Pair:
    """Return both predictions of the cycle that `view` shows."""
    features = feature_columns(view, predictor.features, predictor.signals)
    forecast = predictor.predict(features)
    fields = _shared(predictor, cycle, features)
    risk = RiskTable(ids=features.ids, risk_ratio=forecast.risk_ratio)
    demand = DemandTable(ids=features.ids, demand_ratio=forecast.demand_ratio)
    rows = range(len(features.ids))
    risky = sorted(
        (row for row in rows if risk.risk_ratio[row] >= limits.risk_ratio),
        key=lambda row: (-risk.risk_ratio[row], risk.ids[row]),
    )
    idle = sorted(
        (row for row in rows if demand.demand_ratio[row] < limits.demand_ratio),
        key=lambda row: (demand.demand_ratio[row], demand.ids[row]),
    )
    why_risk = {row: predictor.explain(features, row).risk for row in risky[: limits.targets]}
    why_demand = {row: predictor.explain(features, row).demand for row in idle[: limits.targets]}
    return (
        PredictionRisk(
            **fields, status="result", nodes=risk, contributions=_contributions(features, why_risk)
        ),
        PredictionDemand(
            **fields,
            status="result",
            quantile=predictor.quantile,
            nodes=demand,
            contributions=_contributions(features, why_demand),
        ),
    )


def _shared(predictor: Predictor, cycle: OpenCycle, features: FeatureColumns) -> dict[str, Any]:
    return {
        "cycle": cycle.cycle,
        "cluster_time_seconds": cycle.cluster_time_seconds,
        "model_id": predictor.model_id,
        "horizon_seconds": predictor.horizon_seconds,
        "calibrated": predictor.calibrated,
        "features_hash": features_hash(features),
    }


def _contributions(
    features: FeatureColumns, terms: dict[int, tuple[Term, ...]]
) -> tuple[Contribution, ...]:
    return tuple(
        Contribution(
            target=features.ids[row],
            feature=term.feature,
            value=term.value,
            contribution=term.contribution,
        )
        for row, row_terms in terms.items()
        for term in row_terms
    )
