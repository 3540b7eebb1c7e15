"""Every method on every family and horizon: the one table.

The bar that the table states: the model, followed online, keeps the target within one point and
saves more than max(N-sigma, RC-like) and VPA, each of them used in whichever way serves it best in
hindsight among those that keep the target's upper end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from features.series.quantiles import Floats
from lab.forecast.demand.origins import Ints, Origins, yesterday_at
from lab.forecast.demand.quantile import (
    QUANTILES,
    Boosters,
    level,
    predict_quantiles,
)
from lab.forecast.demand.scores import Difference, Score, difference, score, violations
from lab.forecast.demand.series import Family
from lab.forecast.demand.split import Horizon, Parts, parts_of
from lab.forecast.demand.tracked import bound_limits, follow_target, scale_limits, start_of

MODEL = "model"
BAR_RULES = ("max_n_sigma_rc", "max_n_sigma_rc_2h", "vpa")
RULES = ("last_value", "same_time_yesterday", "n_sigma", "rc_like", "rc_like_2h", *BAR_RULES)
TOLERANCE = 0.01
"""A violation rate within one point of the target keeps it."""
SEED = 5


@dataclass(frozen=True)
class MethodRow:
    """One method: used as it is, scaled once on calibration rows, and followed online."""

    method: str
    plain: Score
    scaled: Score
    followed: Score


@dataclass(frozen=True)
class RuleComparison:
    """The model against one rule, in that rule's best way of use."""

    rule: str
    way: str
    rule_violation: float
    rule_savings: float
    gain: Difference


@dataclass(frozen=True)
class QuantileRow:
    """One quantile of the model: how often the peak lay above it, on test."""

    quantile: float
    plain_violation: float
    followed_violation: float
    plain_pinball: float
    followed_pinball: float


@dataclass(frozen=True)
class FamilyTable:
    """All methods on one family at one horizon."""

    family: str
    horizon: Horizon
    series: int
    origins: int
    oracle_savings: float
    methods: tuple[MethodRow, ...]
    verdicts: tuple[RuleComparison, ...]
    quantiles: tuple[QuantileRow, ...]
    notes: tuple[str, ...]

    def method(self, name: str) -> MethodRow:
        """Return one method's row."""
        return next(row for row in self.methods if row.method == name)

    def keeps_target(self, target: float) -> bool:
        """Return whether the followed model keeps the target within a point."""
        return abs(self.method(MODEL).followed.violation - target) <= TOLERANCE

    @property
    def won(self) -> bool:
        """Return whether the model saves more than every rule of the bar."""
        return all(verdict.gain.value > 0 for verdict in self.verdicts)


def family_table(
    family: Family, rows: Origins, horizon: Horizon, boosters: Boosters, target: float
) -> FamilyTable | None:
    """Return all methods on one family; None where it has no test row at this horizon."""
    parts = parts_of(family, rows, horizon)
    test = np.flatnonzero(parts.test)
    if not len(test):
        return None
    quantiles = predict_quantiles(boosters, rows)
    raw = {name: _rule(rows, name, horizon) for name in RULES}
    raw[MODEL] = level(quantiles, QUANTILES)
    used = {name: _ways(limits, rows, parts, horizon, target) for name, limits in raw.items()}
    scored = [
        MethodRow(name, *(score(way, rows, test, horizon, target) for way in ways.values()))
        for name, ways in used.items()
    ]
    best = [_verdict(row, used, rows, test, target) for row in scored if row.method in BAR_RULES]
    return FamilyTable(
        family=family.title,
        horizon=horizon,
        series=len(np.unique(rows.owner[test])),
        origins=len(test),
        oracle_savings=float((1 - rows.peaks[test, horizon.column] / rows.top[test]).mean()),
        methods=tuple(scored),
        verdicts=tuple(best),
        quantiles=tuple(
            _quantile_row(quantiles[:, column], level, rows, parts, horizon)
            for column, level in enumerate(QUANTILES)
        ),
        notes=family.notes,
    )


def _rule(rows: Origins, name: str, horizon: Horizon) -> Floats:
    stored = yesterday_at(horizon.windows) if name == "same_time_yesterday" else name
    return np.nan_to_num(rows.limits[stored], nan=0.0)


def _ways(
    raw: Floats, rows: Origins, parts: Parts, horizon: Horizon, target: float
) -> dict[str, Floats]:
    start = start_of(raw, rows, parts, horizon, target)
    return {
        "as it is": bound_limits(raw, rows),
        "scaled": scale_limits(raw, rows, start),
        "followed": follow_target(raw, rows, parts, horizon, start, target),
    }


def _verdict(
    row: MethodRow, used: dict[str, dict[str, Floats]], rows: Origins, test: Ints, target: float
) -> RuleComparison:
    ways = {"as it is": row.plain, "scaled": row.scaled, "followed": row.followed}
    keeping = {
        way: score for way, score in ways.items() if score.violation <= target + TOLERANCE
    } or {"followed": row.followed}
    way = max(keeping, key=lambda name: keeping[name].savings)
    gain = difference(used[MODEL]["followed"], used[row.method][way], rows, test, SEED)
    return RuleComparison(row.method, way, ways[way].violation, ways[way].savings, gain)


def _quantile_row(
    raw: Floats, quantile: float, rows: Origins, parts: Parts, horizon: Horizon
) -> QuantileRow:
    target = 1.0 - quantile
    test = np.flatnonzero(parts.test)
    start = start_of(raw, rows, parts, horizon, target)
    plain = bound_limits(raw, rows)
    online = follow_target(raw, rows, parts, horizon, start, target)
    peaks = rows.peaks[test, horizon.column]
    return QuantileRow(
        quantile=quantile,
        plain_violation=float(violations(plain[test], peaks).mean()),
        followed_violation=float(violations(online[test], peaks).mean()),
        plain_pinball=score(plain, rows, test, horizon, target).pinball,
        followed_pinball=score(online, rows, test, horizon, target).pinball,
    )
