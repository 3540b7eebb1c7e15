"""The four scorecards of a comparison: safety, efficiency, admission, control adaptation.

Each line is a figure of every window in both clusters. Windows are paired, so a line is the mean of the windows'
differences, with an interval once there are enough; without one nobody is called better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lab.experiments.effects import ConfidenceInterval
from lab.experiments.resampling import mean_intervals
from lab.live.figures import ROWS
from lab.live.windows import Comparison, StimulusWindow

Better = Literal["higher", "lower", ""]
LEAST_WINDOWS = 5
"""With fewer paired windows an interval is not what it says (docs/experiments.md)."""
ALIKE_WITHIN = 0.01
"""An interval that lies within so much of the larger mean counts as matched: no two looks are at one instant."""
CONFIDENCE, RESAMPLES, SEED = 0.95, 4_000, 1
CARDS: Mapping[str, Mapping[str, tuple[str, Better]]] = {
    "safety": {
        "unhealthy_pod_seconds": ("pod s", "lower"),
        "restarts": ("", "lower"),
        "evictions": ("", "lower"),
        "highest_pressure": ("ratio", "lower"),
        "requests_not_served": ("requests", "lower"),
    },
    "efficiency": {
        "workers": ("", "lower"),
        "watts": ("W", "lower"),
        "cpu_requested_ratio": ("ratio", "higher"),
        "score": ("USD/h", "higher"),
    },
    "admission": {
        "pending_pod_seconds": ("pod s", "lower"),
        "most_pending": ("pods", "lower"),
        "served_ratio": ("ratio", "higher"),
        "removed_replica_seconds": ("replica s", "lower"),
    },
    "control adaptation": {
        "ready_seconds": ("s", "lower"),
        "recovery_seconds": ("s", "lower"),
        "activations": ("nodes", ""),
        "replica_changes": ("replicas", ""),
    },
}
"""By card and figure: its unit, and which way is better; neither, where more is not bad in itself."""


@dataclass(frozen=True, slots=True)
class PairedLine:
    """One figure over all windows that show it in both clusters."""

    name: str
    unit: str
    better: Better
    windows: int
    first: float
    """Mean over these windows."""
    second: float
    difference: ConfidenceInterval
    """First minus second; no limits with fewer windows than `LEAST_WINDOWS`."""
    first_better: int
    """Windows in which the first cluster was better; 0 where neither direction is."""
    second_better: int

    @property
    def verdict(self) -> str:
        """Return `first`, `second`, `matched`, or `` where nothing is shown."""
        if self.windows and not self.first_better and not self.second_better and self.better:
            return "matched"
        if not self.better or not self.difference.known:
            return ""
        low, high = self.difference.low, self.difference.high
        if max(abs(low), abs(high)) <= ALIKE_WITHIN * max(abs(self.first), abs(self.second)):
            return "matched"
        if low <= 0.0 <= high:
            return ""
        return "first" if (low > 0.0) is (self.better == "higher") else "second"


@dataclass(frozen=True, slots=True)
class Scorecard:
    """One of the four."""

    name: str
    lines: tuple[PairedLine, ...]

    @property
    def verdict(self) -> str:
        """Return who is better: `first` or `second` where any line shows it and none shows the other.

        `matched` where every line that has a direction and was seen is equal; `mixed` where lines
        contradict each other; empty where nothing is shown.
        """
        seen = [line.verdict for line in self.lines if line.windows and line.better]
        shown = {verdict for verdict in seen if verdict in ("first", "second")}
        if len(shown) == 1:
            return shown.pop()
        if shown:
            return "mixed"
        return "matched" if seen and set(seen) == {"matched"} else ""


def difference_rows(comparison: Comparison) -> tuple[PairedLine, ...]:
    """Return the eleven difference rows, over all windows; more of one is not better by itself."""
    windows = comparison.windows
    return tuple(
        _line(
            name, unit, "", [(one.sides[0].rows[name], one.sides[1].rows[name]) for one in windows]
        )
        for name, unit in ROWS.items()
    )


def scorecards(comparison: Comparison) -> tuple[Scorecard, ...]:
    """Return the four scorecards."""
    return tuple(
        Scorecard(
            card,
            tuple(
                _line(name, unit, better, _card_pairs(comparison.windows, name))
                for name, (unit, better) in figures.items()
            ),
        )
        for card, figures in CARDS.items()
    )


def _card_pairs(windows: Sequence[StimulusWindow], name: str) -> list[tuple[float, float]]:
    return [(one.sides[0].card[name], one.sides[1].card[name]) for one in windows]


def _line(name: str, unit: str, better: Better, pairs: Sequence[tuple[float, float]]) -> PairedLine:
    known = [pair for pair in pairs if not any(math.isnan(value) for value in pair)]
    differences = [first - second for first, second in known]
    sign = {"higher": 1.0, "lower": -1.0, "": 0.0}[better]
    return PairedLine(
        name,
        unit,
        better,
        len(known),
        _mean([first for first, _ in known]),
        _mean([second for _, second in known]),
        _interval(differences),
        sum(sign * one > 0.0 for one in differences),
        sum(sign * one < 0.0 for one in differences),
    )


def _interval(differences: Sequence[float]) -> ConfidenceInterval:
    if len(differences) < LEAST_WINDOWS:
        return ConfidenceInterval(_mean(differences), math.nan, math.nan)
    column = np.array(differences, dtype=np.float64)[:, None]
    found = mean_intervals([column], CONFIDENCE, RESAMPLES, SEED)
    return ConfidenceInterval(float(found.mean[0]), float(found.low[0]), float(found.high[0]))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
