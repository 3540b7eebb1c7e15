"""Logistic regression as a fair baseline: converged, and told what is missing.

Columns become signed log1p, standardised, clipped to 4 standard deviations; a missing value becomes
the mean, and each different pattern of missing values a column of its own. Fitted by Newton steps,
which converge within a few dozen; an under-fitted logistic regression flatters every other model.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lab.forecast.risk.metrics import Floats, Ints, Labels
from lab.forecast.risk.rows import Bools, Matrix

CLIP_DEVIATIONS = 4.0
INVERSE_PENALTY = 0.1
MOST_STEPS = 100
ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, slots=True)
class Logistic:
    """A fitted logistic regression, complete with what it does to its columns."""

    means: list[float]
    deviations: list[float]
    kept: list[int]
    """Columns that vary in training."""
    indicators: list[int]
    """Columns whose pattern of missing values is a column of its own."""
    weights: list[float]
    intercept: float
    steps: int
    converged: bool

    def predict(self, matrix: Matrix) -> Floats:
        """Return one probability per row."""
        probability = np.empty(len(matrix))
        for low in range(0, len(matrix), ROWS_AT_ONCE):
            part = matrix[low : low + ROWS_AT_ONCE]
            margin = _columns(part, self) @ np.asarray(self.weights) + self.intercept
            probability[low : low + len(part)] = 1.0 / (1.0 + np.exp(-margin))
        return probability

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """Return what `to_json` gave."""
        return cls(**content)


def fit_logistic(
    matrix: Matrix,
    labels: Labels,
    weights: Floats,
    left_out: Bools | None = None,
    inverse_penalty: float = INVERSE_PENALTY,
) -> Logistic:
    """Return the fitted baseline.

    Args:
        matrix: rows x features, NaN where missing.
        labels: 0 or 1 per row.
        weights: of rows; a negative drawn one in n weighs n, so that probabilities stay true.
        left_out: columns that it does not see; None: it sees all.
        inverse_penalty: C of scikit-learn.
    """
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415 - slow to load; only training needs it
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    means, deviations = _scale(matrix)
    allowed = np.ones(len(means), dtype=bool) if left_out is None else ~left_out
    columns = np.flatnonzero((deviations > 0) & allowed)
    shape = Logistic(
        means[columns].tolist(), deviations[columns].tolist(), columns.tolist(), _patterns(matrix), [], 0.0,
        0, False,
    )  # fmt: skip
    model = LogisticRegression(C=inverse_penalty, solver="newton-cholesky", max_iter=MOST_STEPS)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(_columns(matrix, shape), labels, sample_weight=weights)
    return Logistic(
        shape.means,
        shape.deviations,
        shape.kept,
        shape.indicators,
        model.coef_[0].astype(float).tolist(),
        float(model.intercept_[0]),
        int(model.n_iter_[0]),
        not any(issubclass(warning.category, ConvergenceWarning) for warning in warned),
    )


def _signed_log(matrix: Matrix) -> Matrix:
    return np.sign(matrix) * np.log1p(np.abs(matrix))


def _scale(matrix: Matrix) -> tuple[Floats, Floats]:
    """Mean and deviation of each column's signed logarithm, missing values left out."""
    width = matrix.shape[1]
    means, deviations = np.zeros(width), np.zeros(width)
    for column in range(width):
        values = _signed_log(matrix[:, column])
        present = values[~np.isnan(values)].astype(np.float64)
        if len(present):
            means[column], deviations[column] = present.mean(), present.std()
    return means, np.where(deviations > 1e-6, deviations, 0.0)


def _patterns(matrix: Matrix) -> list[int]:
    """Return one column for each different pattern of missing values that is not constant."""
    known: dict[bytes, int] = {}
    for column in range(matrix.shape[1]):
        missing = np.isnan(matrix[:, column])
        if missing.any() and not missing.all():
            known.setdefault(np.packbits(missing).tobytes(), column)
    return sorted(known.values())


def _columns(matrix: Matrix, shape: Logistic) -> npt.NDArray[np.float64]:
    columns: Ints = np.asarray(shape.kept, dtype=np.int64)
    values = _signed_log(matrix[:, columns]).astype(np.float64)
    values -= np.asarray(shape.means)
    values /= np.asarray(shape.deviations)
    np.clip(values, -CLIP_DEVIATIONS, CLIP_DEVIATIONS, out=values)
    np.nan_to_num(values, copy=False, nan=0.0)
    return np.hstack([values, np.isnan(matrix[:, shape.indicators]).astype(np.float64)])
