"""Scoring predictions once their horizon has passed.

Risk is scored by Brier (mean squared difference of risk and outcome), and as an alarm at the lowest
action threshold: hits, misses, false alarms, and how long before the failure a hit came. Demand is
scored against what the prediction says it foresees, with a quantile by pinball loss. What was acted
upon proves nothing about a prediction: such nodes, and those that have gone, are left out and
listed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from schemas.model import DataModel
from schemas.numbers import Count, Rounded, rounded
from schemas.outcome import ForecastScore, OutcomeForecast, RunningScore
from schemas.prediction import DemandTable
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.scoreboard.pending import PendingForecast
from services.scoreboard.predicted import demand_ratios


class RunningSums(DataModel):
    """Sums over everything that one model was scored on, of one kind of prediction."""

    slot: Count
    kind: str
    """`risk` or `demand`."""
    model_id: str
    targets: Count = 0
    positives: Count = 0
    hits: Count = 0
    misses: Count = 0
    false_alarms: Count = 0
    brier_sum: Rounded = 0.0
    lead_sum_seconds: Rounded = 0.0
    pinball_sum_ratio: Rounded = 0.0

    def with_score(self, score: ForecastScore) -> RunningSums:
        """Return the sums with one more score."""
        return self.model_copy(
            update={
                "targets": self.targets + score.targets,
                "positives": self.positives + score.positives,
                "hits": self.hits + (score.hits or 0),
                "misses": self.misses + (score.misses or 0),
                "false_alarms": self.false_alarms + (score.false_alarms or 0),
                "brier_sum": _more(self.brier_sum, score.brier, score.targets),
                "lead_sum_seconds": _more(
                    self.lead_sum_seconds, score.lead_seconds, score.hits or 0
                ),
                "pinball_sum_ratio": _more(
                    self.pinball_sum_ratio, score.pinball_ratio, score.targets
                ),
            }
        )

    def score(self, score: ForecastScore) -> RunningScore:
        """Return the sums as they are published beside a score of the same model."""
        return RunningScore(
            targets=self.targets,
            positives=self.positives,
            brier=_share(self.brier_sum, self.targets) if score.brier is not None else None,
            hits=self.hits,
            misses=self.misses,
            false_alarms=self.false_alarms,
            lead_seconds=_share(self.lead_sum_seconds, self.hits),
            pinball_ratio=(
                _share(self.pinball_sum_ratio, self.targets)
                if score.pinball_ratio is not None
                else None
            ),
        )


def _more(total: float, mean: float | None, count: int) -> float:
    return rounded(total + (mean or 0.0) * count)


def _share(total: float, count: int) -> float | None:
    return total / count if count else None


Runnings = tuple[RunningSums, ...]


def score_forecast(
    pending: PendingForecast, view: ObservationView, runnings: Runnings
) -> tuple[OutcomeForecast, Runnings]:
    """Score a forecast with the observation at the end of its horizon.

    Returns the outcome, and the running sums with it.
    """
    demands = demand_ratios(view.nodes)
    ids = (*(pending.risk.ids if pending.risk else ()), *(pending.demand or DemandTable()).ids)
    out = frozenset(name for name in ids if name in pending.acted or name not in demands)
    risk, runnings = _add_score(runnings, pending, "risk", risk_score(pending, out))
    demand, runnings = _add_score(runnings, pending, "demand", demand_score(pending, demands, out))
    skipped = pending.risk is None and pending.demand is None
    outcome = OutcomeForecast(
        cycle=pending.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        observed_cycle=view.cycle,
        model_id=pending.model_id,
        demand_model_id=pending.demand_model_id,
        horizon_seconds=pending.horizon_seconds,
        risk=risk,
        demand=demand,
        uncertain_targets=tuple(sorted(out)),
        reason=Reason.PREDICTION_SKIPPED if skipped else None,
        slot=pending.slot,
        part=pending.part,
    )
    return outcome, runnings


def _add_score(
    runnings: Runnings, pending: PendingForecast, kind: str, score: ForecastScore | None
) -> tuple[ForecastScore | None, Runnings]:
    """Add a score to its model's sums; another model in the same place begins anew."""
    if score is None:
        return None, runnings
    model_id = (pending.demand_model_id if kind == "demand" else "") or pending.model_id
    same = (
        sum_so_far
        for sum_so_far in runnings
        if (sum_so_far.slot, sum_so_far.kind) == (pending.slot, kind)
    )
    running = next(same, None)
    if running is None or running.model_id != model_id:
        running = RunningSums(slot=pending.slot, kind=kind, model_id=model_id)
    total = running.with_score(score)
    others = (
        sum_so_far
        for sum_so_far in runnings
        if (sum_so_far.slot, sum_so_far.kind) != (pending.slot, kind)
    )
    ordered = tuple(sorted((*others, total), key=lambda other: (other.slot, other.kind)))
    return score.model_copy(update={"running": total.score(score)}), ordered


def risk_score(pending: PendingForecast, uncertain: frozenset[str]) -> ForecastScore | None:
    """Return Brier, alarms and lead time over the nodes whose outcome is certain."""
    if pending.risk is None:
        return None
    pairs = zip(pending.risk.ids, pending.risk.risk_ratio, strict=True)
    certain = [(name, ratio) for name, ratio in pairs if name not in uncertain]
    times = dict(zip(pending.failed, pending.failed_time_seconds, strict=True))
    errors = [(ratio - (1.0 if name in times else 0.0)) ** 2 for name, ratio in certain]
    alarms = {} if pending.alarm_ratio is None else _alarms(pending, certain, times)
    return ForecastScore(
        targets=len(certain),
        uncertain=len(pending.risk) - len(certain),
        positives=sum(name in times for name, _ in certain),
        brier=_mean(errors),
        **alarms,
    )


def _alarms(
    pending: PendingForecast, certain: Sequence[tuple[str, float]], times: Mapping[str, float]
) -> dict[str, int | float | None]:
    threshold = pending.alarm_ratio or 0.0
    abstained = frozenset(pending.abstained)
    raised = {name for name, ratio in certain if ratio >= threshold and name not in abstained}
    hits = [name for name, _ in certain if name in raised and name in times]
    leads = [times[name] - pending.cluster_time_seconds for name in hits]
    return {
        "hits": len(hits),
        "misses": sum(name in times and name not in raised for name, _ in certain),
        "false_alarms": sum(name not in times for name in raised),
        "lead_seconds": _mean(leads),
    }


def demand_score(
    pending: PendingForecast, demands: Mapping[str, float], uncertain: frozenset[str]
) -> ForecastScore | None:
    """Return mean and mean absolute error, observed minus predicted, and the pinball loss."""
    if pending.demand is None:
        return None
    table, quantile = pending.demand, pending.quantile
    peaks = dict(zip(table.ids, pending.peaks, strict=True)) if pending.peaks else {}
    observed = peaks if pending.demand_of == "peak_use" else demands
    errors = [
        observed[name] - ratio
        for name, ratio in zip(table.ids, table.demand_ratio, strict=True)
        if name not in uncertain and name in observed
    ]
    losses = [] if quantile is None else [_pinball(quantile, error) for error in errors]
    return ForecastScore(
        targets=len(errors),
        uncertain=len(table) - len(errors),
        mean_error_ratio=_mean(errors),
        mean_absolute_error_ratio=_mean([abs(error) for error in errors]),
        pinball_ratio=_mean(losses),
    )


def _pinball(quantile: float, error: float) -> float:
    return max(quantile * error, (quantile - 1.0) * error)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
