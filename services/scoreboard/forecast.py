"""Scoring predictions once their horizon has passed.

Risk is scored by Brier (mean squared difference of risk and outcome), where the outcome is 1 when
the node was seen not ready or with unhealthy pods before the window closed. Demand is scored
against the requested demand then. The first observation at or after the horizon's end closes the
window, so a fast cluster, whose cycles are longer than the horizon, is scored too. What was acted
upon proves nothing about a prediction: such nodes, and those that have gone, are left out and
listed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

from schemas.model import Part
from schemas.numbers import Cycle, Seconds
from schemas.observation import ObservedNodes
from schemas.outcome import ForecastScore, OutcomeForecast
from schemas.prediction import DemandTable, Prediction, PredictionDemand, PredictionRisk, RiskTable
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.scoreboard.predicted import demand_ratios

T = TypeVar("T")


class PendingForecast(Part):
    """The predictions of one cycle, until their horizon has passed."""

    cycle: Cycle
    cluster_time_seconds: Seconds
    horizon_seconds: Seconds
    model_id: str
    causes: tuple[str, ...] = ()
    """Ids of the predictions."""
    risk: RiskTable | None = None
    """None when it was skipped or never came."""
    demand: DemandTable | None = None
    failed: tuple[str, ...] = ()
    """Nodes seen failing so far, sorted."""
    acted: tuple[str, ...] = ()
    """Nodes acted upon so far, sorted."""

    @property
    def end_seconds(self) -> float:
        """Cluster time at which the horizon ends."""
        return self.cluster_time_seconds + self.horizon_seconds


def with_prediction(
    pending: PendingForecast | None, data: Prediction, event_id: str, targets: int
) -> PendingForecast:
    """Return the pending forecast of a cycle with one more of its two predictions."""
    base = pending or PendingForecast(
        cycle=data.cycle,
        cluster_time_seconds=data.cluster_time_seconds,
        horizon_seconds=data.horizon_seconds,
        model_id=data.model_id,
    )
    changes: dict[str, object] = {"causes": (*base.causes, event_id)}
    if data.status == "result":
        if isinstance(data, PredictionRisk):
            keep = sampled(len(data.nodes), targets)
            changes["risk"] = RiskTable(
                ids=_picked(data.nodes.ids, keep), risk_ratio=_picked(data.nodes.risk_ratio, keep)
            )
        if isinstance(data, PredictionDemand):
            keep = sampled(len(data.nodes), targets)
            changes["demand"] = DemandTable(
                ids=_picked(data.nodes.ids, keep),
                demand_ratio=_picked(data.nodes.demand_ratio, keep),
            )
    return base.model_copy(update=changes)


def sampled(rows: int, targets: int) -> range:
    """Return evenly spaced row numbers, at most `targets` of them."""
    return range(0, rows, max(1, math.ceil(rows / targets)))


def _picked(column: Sequence[T], rows: range) -> tuple[T, ...]:
    return tuple(column[row] for row in rows)


def failing(nodes: ObservedNodes) -> frozenset[str]:
    """Return the nodes that are not ready or hold unhealthy pods."""
    rows = zip(nodes.ids, nodes.ready, nodes.unhealthy_pods, strict=True)
    return frozenset(name for name, ready, unhealthy in rows if not ready or unhealthy > 0)


def watched(
    pending: PendingForecast, time_seconds: float, failed: frozenset[str]
) -> PendingForecast:
    """Note which of the predicted nodes fail in an observation.

    The one that the prediction was made from does not count; the one that closes the window does.
    """
    if pending.risk is None or time_seconds <= pending.cluster_time_seconds:
        return pending
    seen = failed.intersection(pending.risk.ids).difference(pending.failed)
    return _with(pending, failed=(*pending.failed, *sorted(seen))) if seen else pending


def touched(pending: PendingForecast, time_seconds: float, nodes: Sequence[str]) -> PendingForecast:
    """Note nodes that an execution changed within the window."""
    new = frozenset(nodes).difference(pending.acted)
    if not new or time_seconds < pending.cluster_time_seconds:
        return pending
    return _with(pending, acted=(*pending.acted, *sorted(new)))


def _with(pending: PendingForecast, **names: Sequence[str]) -> PendingForecast:
    return pending.model_copy(update={key: tuple(sorted(value)) for key, value in names.items()})


def scored(pending: PendingForecast, view: ObservationView) -> OutcomeForecast:
    """Score a forecast with the observation at the end of its horizon."""
    demands = demand_ratios(view.nodes)
    ids = (*(pending.risk.ids if pending.risk else ()), *(pending.demand or DemandTable()).ids)
    out = frozenset(name for name in ids if name in pending.acted or name not in demands)
    skipped = pending.risk is None and pending.demand is None
    return OutcomeForecast(
        cycle=pending.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        observed_cycle=view.cycle,
        model_id=pending.model_id,
        horizon_seconds=pending.horizon_seconds,
        risk=None if pending.risk is None else risk_score(pending.risk, pending.failed, out),
        demand=None if pending.demand is None else demand_score(pending.demand, demands, out),
        uncertain_targets=tuple(sorted(out)),
        reason=Reason.PREDICTION_SKIPPED if skipped else None,
    )


def risk_score(risk: RiskTable, failed: Sequence[str], uncertain: frozenset[str]) -> ForecastScore:
    """Return the Brier score over the nodes whose outcome is certain."""
    bad = frozenset(failed)
    errors = [
        (ratio - (1.0 if name in bad else 0.0)) ** 2
        for name, ratio in zip(risk.ids, risk.risk_ratio, strict=True)
        if name not in uncertain
    ]
    return ForecastScore(
        targets=len(errors),
        uncertain=len(risk) - len(errors),
        positives=sum(name in bad and name not in uncertain for name in risk.ids),
        brier=_mean(errors),
    )


def demand_score(
    demand: DemandTable, observed: Mapping[str, float], uncertain: frozenset[str]
) -> ForecastScore:
    """Return the mean and mean absolute error, observed minus predicted."""
    errors = [
        observed[name] - ratio
        for name, ratio in zip(demand.ids, demand.demand_ratio, strict=True)
        if name not in uncertain
    ]
    return ForecastScore(
        targets=len(errors),
        uncertain=len(demand) - len(errors),
        mean_error_ratio=_mean(errors),
        mean_absolute_error_ratio=_mean([abs(error) for error in errors]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
