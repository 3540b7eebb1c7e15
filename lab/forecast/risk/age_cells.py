"""Expected over observed failures by window and age class, with intervals over jobs and over users."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lab.forecast.risk import metrics
from lab.forecast.risk.bootstrap import HIGH_PERCENT, LOW_PERCENT, resamples
from lab.forecast.risk.every_age import AGE_CLASSES
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.rows import Bools, Rows
from lab.forecast.risk.scoring import MODEL

FEWEST_POSITIVES, FEWEST_JOBS = 200, 30
"""A cell with fewer positive rows, or from fewer failing jobs, says little and is pooled."""
LEAST_RATIO, MOST_RATIO = 0.7, 1.4
POOLED = "pooled"
ALL_WINDOWS = "all windows"


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Test rows with what was predicted of them."""

    rows: Rows
    scores: Mapping[str, Floats]
    user: Ints


@dataclass(frozen=True, slots=True)
class Cell:
    """One window and age class (or what was pooled)."""

    window: str
    ages: str
    rows: int
    positives: int
    """Rows whose attempt fails within the horizon; one failure is up to three of them."""
    failing_jobs: int
    expected_observed: float
    brier_skill: float
    by_job: tuple[float, float]
    """95 % of expected / observed over resamples of whole jobs."""
    by_user: tuple[float, float]

    @property
    def is_judged(self) -> bool:
        """Whether it has failures enough."""
        return self.positives >= FEWEST_POSITIVES and self.failing_jobs >= FEWEST_JOBS

    @property
    def holds(self) -> bool:
        """Whether expected / observed lies within the bounds."""
        return LEAST_RATIO <= self.expected_observed <= MOST_RATIO

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {**asdict(self), "judged": self.is_judged, "holds": self.holds}


def table_of_cells(
    judged: ScoredRows, names: Sequence[str], windows: Ints, ages: Ints, seed: int
) -> list[Cell]:
    """Return the cells that have failures enough; the others pooled by window, then over windows."""
    cells: list[Cell] = []
    scarce_everywhere = np.zeros(len(windows), dtype=bool)
    for number, name in enumerate(names):
        scarce = np.zeros(len(windows), dtype=bool)
        pooled: list[str] = []
        for age, about in enumerate(AGE_CLASSES):
            here = (windows == number) & (ages == age)
            if not here.any():
                continue
            cell = cell_of(judged, here, name, about, seed)
            if cell.is_judged:
                cells.append(cell)
            else:
                scarce |= here
                pooled.append(about)
        if not scarce.any():
            continue
        cell = cell_of(judged, scarce, name, f"{POOLED}: {', '.join(pooled)}", seed)
        if cell.is_judged:
            cells.append(cell)
        else:
            scarce_everywhere |= scarce
    if scarce_everywhere.any():
        cells.append(cell_of(judged, scarce_everywhere, ALL_WINDOWS, POOLED, seed))
    return cells


def cell_of(judged: ScoredRows, here: Bools, window: str, ages: str, seed: int) -> Cell:
    """Return the figures of some rows."""
    label, probability = judged.rows.label[here], judged.scores[MODEL][here]
    job = judged.rows.job[here]
    return Cell(
        window,
        ages,
        len(label),
        int(label.sum()),
        len(np.unique(job[label == 1])),
        metrics.expected_to_observed(label, probability),
        metrics.brier_skill(label, probability) if label.any() else math.nan,
        ratio_interval(label, probability, job, seed),
        ratio_interval(label, probability, judged.user[here], seed),
    )


def ratio_interval(
    label: metrics.Labels, probability: Floats, cluster: Ints, seed: int
) -> tuple[float, float]:
    """Return 95 % of expected / observed over resamples of whole clusters (jobs or users)."""
    _, codes = np.unique(cluster, return_inverse=True)
    if not label.any():
        return math.nan, math.nan
    expected = np.bincount(codes, weights=probability)
    observed = np.bincount(codes, weights=label)
    weights = resamples(len(expected), seed)
    top, bottom = expected @ weights, observed @ weights
    ratios = top[bottom > 0] / bottom[bottom > 0]
    low, high = np.percentile(ratios, [LOW_PERCENT, HIGH_PERCENT])
    return float(low), float(high)
