"""Action budgets to thresholds: which risk a node must reach so that few enough are acted upon.

A budget is the share of nodes that one cycle may act upon. Node risk is 1 - prod(1 - p) over the
attempts that run on the node at a moment; its quantiles over moments of the last fold, which no
member had learnt from, are the thresholds. Where machines are not known, rows stand in for nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lab.forecast.risk.boosting import load_booster, mean_probability
from lab.forecast.risk.calibration import Curve
from lab.forecast.risk.folds import MEAN, OutOfFold
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.rows import MICROSECONDS, RiskData, Rows, read_features
from lab.forecast.risk.splits import Cut
from lab.forecast.risk.training import Trained

BUDGETS = {
    "replicate_risk_ratio": 0.001,
    "migrate_risk_ratio": 0.01,
    "throttle_risk_ratio": 0.05,
}
"""Share of nodes that may be acted upon in a cycle, by safety threshold."""
MOMENT_SECONDS = 300
STILL_RUNNING = -1
MOMENTS, MOMENTS_APART = 4, 12
"""Moments of a grid that stand for all of them, an hour apart."""


@dataclass(frozen=True, slots=True)
class RiskSample:
    """Risks to take quantiles of, and what they are risks of."""

    risks: Floats
    of_nodes: bool


def risk_sample(rows: Rows, predictions: OutOfFold, curve: Curve, horizon_us: int) -> RiskSample:
    """Return node risks every five minutes of the last fold; row risks where there are no nodes.

    An attempt counts from its own row for as long as it runs, at most for the horizon: later its
    prediction is out of date.
    """
    last = predictions.fold == predictions.fold.max()
    chosen = np.searchsorted(rows.position, predictions.position[last])
    probability = curve.apply(predictions.scores[MEAN][last])
    machine, begun = rows.machine[chosen], rows.time_us[chosen]
    if (machine < 0).all() or (predictions.weight[last] != 1.0).any():
        return RiskSample(probability, of_nodes=False)
    ended = np.where(rows.end_us[chosen] == STILL_RUNNING, begun + horizon_us, rows.end_us[chosen])
    until = np.minimum(ended, begun + horizon_us)
    step = MOMENT_SECONDS * MICROSECONDS
    moments = range(int(begun.min()) + horizon_us, int(begun.max()), step)
    parts = [
        _nodes(machine[now], probability[now])
        for moment in moments
        if (now := (begun <= moment) & (until > moment) & (machine >= 0)).any()
    ]
    if not parts:
        return RiskSample(probability, of_nodes=False)
    return RiskSample(np.concatenate(parts), of_nodes=True)


def node_sample(data: RiskData, rows: Rows, trained: Trained, cut: Cut) -> RiskSample:
    """Return the risks of all nodes at a few moments before the cut, from every running attempt.

    For datasets with a row for each running attempt at each moment of the grid; row risks where no
    machines are known.
    """
    step = MOMENT_SECONDS * MICROSECONDS
    last = (cut.cut_us - cut.purge_us) // step
    moments = [(last - back * MOMENTS_APART) * step for back in range(MOMENTS)]
    chosen = rows.take((rows.segment == cut.segment) & np.isin(rows.time_us, moments))
    if not len(chosen):
        return RiskSample(np.zeros(1), of_nodes=False)
    boosters = [load_booster(raw) for raw in trained.members.values()]
    scores = mean_probability(boosters, read_features(data, chosen.position))
    probability = trained.curve.apply(scores)
    parts = [
        _nodes(chosen.machine[now], probability[now])
        for moment in moments
        if (now := (chosen.time_us == moment) & (chosen.machine >= 0)).any()
    ]
    if not parts:
        return RiskSample(probability, of_nodes=False)
    return RiskSample(np.concatenate(parts), of_nodes=True)


def _nodes(machine: Ints, probability: Floats) -> Floats:
    _, codes = np.unique(machine, return_inverse=True)
    survival = np.bincount(codes, weights=np.log1p(-np.minimum(probability, 1.0 - 1e-9)))
    risks: Floats = -np.expm1(survival)
    return risks
