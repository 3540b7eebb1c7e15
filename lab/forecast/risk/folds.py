"""Five rolling time folds inside the training time.

Fold after fold, the members learn from what lies before a window (less the gap) and predict every
row of the window. These predictions choose between members, fit the calibration curve and show how
the model fares from hour to hour; one validation set of a few hundred positives would choose by
luck.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lab.forecast.risk.metrics import (
    Floats,
    Ints,
    Labels,
    average_precision,
    brier_skill,
    expected_to_observed,
)
from lab.forecast.risk.rows import Bools
from lab.forecast.risk.splits import Cut

FOLDS = 5
FIRST_SHARE = 1.0 / 3.0
"""Of the training time, before the first window."""
MEAN = "mean"


@dataclass(frozen=True, slots=True)
class Fold:
    """One window, [start, end), and what may be learnt before it."""

    number: int
    start_us: int
    end_us: int
    learnt_until_us: int


def rolling_folds(cut: Cut, count: int = FOLDS) -> tuple[Fold, ...]:
    """Return the windows: equally long, from a third of the training time to its end."""
    first = cut.start_us + (cut.cut_us - cut.start_us) * FIRST_SHARE
    edges = [round(edge) for edge in np.linspace(first, cut.cut_us, count + 1)]
    return tuple(
        Fold(number + 1, edges[number], edges[number + 1], edges[number] - cut.purge_us)
        for number in range(count)
    )


@dataclass(frozen=True, slots=True)
class OutOfFold:
    """Predictions of rows that their model had not learnt from, equal-length columns."""

    position: Ints
    fold: Ints
    time_us: Ints
    job: Ints
    label: Labels
    weight: Floats
    """1 for every row; a negative drawn one in n weighs n (grid datasets)."""
    unseen: Bools
    """Whether the job had no event before the window."""
    scores: Mapping[str, Floats]
    """By member, and `mean` of them all."""


def fold_table(predictions: OutOfFold) -> list[dict[str, float]]:
    """Return per fold: rows, positives, prevalence and the average precision of every score."""
    table = []
    for number in np.unique(predictions.fold):
        here = predictions.fold == number
        new = here & predictions.unseen
        row: dict[str, float] = {
            "fold": int(number),
            "rows": int(np.count_nonzero(here)),
            "positives": int(predictions.label[here].sum()),
            "prevalence": _rate(predictions, here),
            "unseen_positives": int(predictions.label[new].sum()),
            "unseen_prevalence": _rate(predictions, new),
            "expected_observed": expected_to_observed(
                predictions.label[here], predictions.scores[MEAN][here], predictions.weight[here]
            ),
            "brier_skill": brier_skill(
                predictions.label[here], predictions.scores[MEAN][here], predictions.weight[here]
            ),
        }
        for name, scores in predictions.scores.items():
            row[f"ap_{name}"] = average_precision(
                predictions.label[here], scores[here], predictions.weight[here]
            )
            row[f"ap_unseen_{name}"] = average_precision(
                predictions.label[new], scores[new], predictions.weight[new]
            )
        table.append(row)
    return table


def _rate(predictions: OutOfFold, chosen: Bools) -> float:
    total = math.fsum(predictions.weight[chosen])
    return (
        math.fsum((predictions.weight * predictions.label)[chosen]) / total if total else math.nan
    )


def choose(table: list[dict[str, float]], members: list[str]) -> tuple[str, str]:
    """Return `mean` or one member, with the reason in words.

    A member is preferred to the mean only if it is better on unseen jobs by more than a standard
    error over the folds: few positives make winners by chance.
    """
    best, text = MEAN, "the mean of all members; none is better by more than a standard error"
    gain = 0.0
    for name in members:
        steps = [row[f"ap_unseen_{name}"] - row[f"ap_unseen_{MEAN}"] for row in table]
        steps = [step for step in steps if not math.isnan(step)]
        if len(steps) < 2:
            continue
        average = math.fsum(steps) / len(steps)
        spread = math.fsum((step - average) ** 2 for step in steps) / (len(steps) - 1)
        if average > max(gain, math.sqrt(spread / len(steps))):
            best, gain = name, average
            text = f"{name}: better than the mean by {average:.3f} AP, more than a standard error"
    return best, text
