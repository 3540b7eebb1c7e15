"""Scores of a backtest: weighted quantile loss and the share of outcomes inside of the band.

Weighted quantile loss is 2 * sum of pinball losses / sum of outcomes, mean over quantiles, over all series, origins
and horizons of a part: large series weigh as they do in the machines they need. `equal` beside it gives every series
the same weight. A *rising edge* is an origin whose last quarter of an hour lies a tenth or more above the one an hour
before it (with steps of an hour: above the hour before), so it is known when the forecast is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.demand.follow import pinball
from features.demand.past import HORIZONS_SECONDS, QUANTILES, Origins
from features.demand.rules import RULES
from features.series.quantiles import Floats

FORECAST = "forecast"
JUDGED = (FORECAST, *RULES)
LOW, HIGH = QUANTILES.index(0.1), QUANTILES.index(0.9)


@dataclass
class Sums:
    """Sums of one part and horizon: by `JUDGED` losses and outcomes inside, on edges as well."""

    outcomes: float = 0.0
    rows: int = 0
    edge_rows: int = 0
    loss: Floats = field(default_factory=lambda: np.zeros(len(JUDGED)))
    inside: Floats = field(default_factory=lambda: np.zeros(len(JUDGED)))
    edge_inside: Floats = field(default_factory=lambda: np.zeros(len(JUDGED)))
    below: Floats = field(default_factory=lambda: np.zeros(len(QUANTILES)))
    by_model: int = 0

    def add(self, other: Sums) -> None:
        """Add another's."""
        for name in ("outcomes", "rows", "edge_rows", "by_model"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("loss", "inside", "edge_inside", "below"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Scores:
    """Sums by part, horizon and series."""

    def __init__(self, splits: Sequence[str]) -> None:
        """Take the names of the parts."""
        self.splits = list(splits)
        self._sums: dict[tuple[str, int], Sums] = {}
        self._series: dict[str, list[tuple[float, Floats]]] = {}

    def add(
        self,
        origins: Origins,
        said: NDArray[np.float32],
        truth: Floats,
        split: NDArray[np.int64],
        edges: NDArray[np.bool_],
        by_model: NDArray[np.bool_],
    ) -> None:
        """Add one series.

        Args:
            origins: horizons and how many.
            said: (n, horizons, JUDGED, QUANTILES).
            truth: (n, horizons), NaN where there is none to judge by.
            split: (n, horizons) the part that the target belongs to.
            edges: (n,) whether the origin is on a rising edge.
            by_model: (n, horizons) whether the model had a say.
        """
        known = ~np.isnan(truth)
        came = np.where(known, truth, 0.0)
        losses = pinball(said.astype(np.float64), came[..., None])
        inside = (said[..., LOW] <= came[..., None]) & (came[..., None] <= said[..., HIGH])
        below = came[..., None] < said[:, :, 0]
        for code, name in enumerate(self.splits):
            whole = known & (split == code)
            if not whole.any():
                continue
            for place, horizon in enumerate(origins.horizons):
                rows = whole[:, place]
                on_edge = rows & edges
                sums = Sums(
                    float(came[rows, place].sum()),
                    int(rows.sum()),
                    int(on_edge.sum()),
                    losses[rows, place].sum(axis=0),
                    inside[rows, place].sum(axis=0).astype(np.float64),
                    inside[on_edge, place].sum(axis=0).astype(np.float64),
                    below[rows, place].sum(axis=0).astype(np.float64),
                    int(by_model[rows, place].sum()),
                )
                self._sums.setdefault((name, horizon), Sums()).add(sums)
            total = float(came[whole].sum())
            if total > 0:
                self._series.setdefault(name, []).append((total, losses[whole].sum(axis=0)))

    def report(self) -> dict[str, Any]:
        """Return figures by part: over all horizons, and each of them."""
        parts = {}
        for split in self.splits:
            horizons = [one for one in HORIZONS_SECONDS if (split, one) in self._sums]
            if not horizons:
                continue
            total = Sums()
            for horizon in horizons:
                total.add(self._sums[split, horizon])
            each = {str(one // 60): _figures(self._sums[split, one]) for one in horizons}
            figures = _figures(total)
            parts[split or "all"] = {
                **figures,
                "equal": self._equal(split),
                "by_minutes": each,
            }
        return parts

    def _equal(self, split: str) -> dict[str, Any] | None:
        series = self._series.get(split, [])
        if not series:
            return None
        mean = np.mean([2 * losses / total for total, losses in series], axis=0)
        wql = dict(zip(JUDGED, (round(float(one), 6) for one in mean), strict=True))
        best = min(RULES, key=lambda name: wql[name])
        return {"series": len(series), "wql": wql, "best_rule": best, "ratio": _ratio(wql, best)}


def _figures(sums: Sums) -> dict[str, Any]:
    total = max(sums.outcomes, 1e-300)
    wql = dict(zip(JUDGED, (round(float(2 * one / total), 6) for one in sums.loss), strict=True))
    best = min(RULES, key=lambda name: wql[name])
    share = sums.inside / max(sums.rows, 1)
    edge = sums.edge_inside / max(sums.edge_rows, 1)
    below = sums.below / max(sums.rows, 1)
    return {
        "rows": sums.rows,
        "rows_on_edges": sums.edge_rows,
        "by_model": round(sums.by_model / max(sums.rows, 1), 4),
        "wql": wql,
        "best_rule": best,
        "ratio": _ratio(wql, best),
        "ratios": {name: _ratio(wql, name) for name in RULES},
        "inside_80": dict(zip(JUDGED, (round(float(one), 4) for one in share), strict=True)),
        "inside_80_edges": dict(zip(JUDGED, (round(float(one), 4) for one in edge), strict=True))
        if sums.edge_rows
        else None,
        "below": dict(
            zip(
                (f"{one:g}" for one in QUANTILES),
                (round(float(one), 4) for one in below),
                strict=True,
            )
        ),
    }


def _ratio(wql: dict[str, float], rule: str) -> float | None:
    return round(wql[FORECAST] / wql[rule], 4) if wql[rule] > 0 else None
