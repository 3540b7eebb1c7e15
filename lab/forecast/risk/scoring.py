"""One pass over the test rows: every model's score of every row.

Features stream by; scores, a few numbers a row, stay. A seeded sample of rows keeps its features,
for drift and contributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lab.forecast.risk.boosting import load_booster, mean_probability
from lab.forecast.risk.logistic import Logistic
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import Matrix, RiskData, Rows
from lab.forecast.risk.rules import FORMULA, formula_scores, rule_scores
from lab.forecast.risk.splits import fractions

MODEL, LOGISTIC = "model", "logistic"
SAMPLE_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of some rows, by model, and the features of a sample of them."""

    scores: dict[str, Floats]
    sample: Ints
    """Indices into the rows."""
    matrix: Matrix
    """Features of the sample."""


def score(
    data: RiskData,
    rows: Rows,
    past: JobCounts,
    members: tuple[bytes, ...],
    logistic: Logistic | None,
    prior: float,
    progress: Callable[[int, int], None],
) -> Scored:
    """Return every model's raw scores of `rows`.

    Args:
        data: the dataset.
        rows: what to score, in the dataset's order.
        past: the history that rules count in.
        members: the model's boosters; their mean is the model.
        logistic: the baseline; None where training left none.
        prior: the training prevalence.
        progress: told (rows done, rows).
    """
    boosters = [load_booster(raw) for raw in members]
    names = list(data.feature_names)
    scores_by_model: dict[str, list[Floats]] = {MODEL: [], LOGISTIC: [], FORMULA: []}
    drawn = fractions(rows.position, 2) < SAMPLE_ROWS / max(1, len(rows))
    kept: list[Matrix] = []
    done = 0
    for matrix in data.features_at(rows.position):
        scores_by_model[MODEL].append(mean_probability(boosters, matrix))
        if logistic is not None:
            scores_by_model[LOGISTIC].append(logistic.predict(matrix))
        formula = formula_scores(matrix, names)
        if formula is not None:
            scores_by_model[FORMULA].append(formula)
        kept.append(matrix[drawn[done : done + len(matrix)]])
        done += len(matrix)
        progress(done, len(rows))
    scores = {name: np.concatenate(parts) for name, parts in scores_by_model.items() if parts}
    scores |= rule_scores(rows, past, prior)
    return Scored(scores, np.flatnonzero(drawn).astype(np.int64), np.concatenate(kept))
