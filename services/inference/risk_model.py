"""A trained risk model: from feature rows to probabilities, and why.

The library adds up the trees; everything after that is done here in double precision by the
standard library, so that a prediction computed again elsewhere rounds to the same six decimals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bus.errors import InputError
from schemas.manifest import Calibration, ModelBooster
from services.inference.booster import Matrix
from services.inference.scorers import Scorer, load_scorer
from services.model_directory import ModelDirectory

F64 = NDArray[np.float64]
OBJECTIVE = "binary:logistic"
USUAL_HORIZON_SECONDS = 900.0


class RiskModel:
    """One horizon of a risk model, ready to predict."""

    def __init__(self, directory: ModelDirectory, horizon_seconds: float | None = None) -> None:
        """Load the boosters of one horizon.

        Args:
            directory: a checked model of kind `risk`.
            horizon_seconds: one of the model's horizons; None: 900 s, or else its first.

        Raises:
            InputError: the model has no such horizon, or a booster was trained for something else.
        """
        manifest = directory.manifest
        self.manifest = manifest
        self.horizon_seconds = chosen_horizon(manifest.horizons_seconds, horizon_seconds)
        pairs = [
            (booster, raw)
            for booster, raw in zip(manifest.boosters, directory.boosters, strict=True)
            if booster.horizon_seconds == self.horizon_seconds
        ]
        self._calibration = pairs[0][0].calibration
        self._boosters = load_booster(pairs, manifest.model_id, OBJECTIVE, len(manifest.features))

    def probabilities(self, rows: Matrix) -> F64:
        """Return one calibrated probability per row of (rows, features)."""
        if not len(rows):
            return np.empty(0)
        members = [_logistic(booster.margins(rows)) for booster in self._boosters]
        mean = _total(members) / len(members)
        return calibrate(mean, self._calibration)

    def contributions(self, rows: Matrix) -> Matrix:
        """Return (rows, features): what each feature adds to the log-odds, before calibration."""
        members = [booster.contributions(rows) for booster in self._boosters]
        mean = _total(members) / len(members)
        return np.asarray(mean[:, :-1], dtype=np.float32)


def chosen_horizon(horizons: Sequence[float], horizon_seconds: float | None) -> float:
    """Return the horizon to predict.

    Raises:
        InputError: the model has none of that length.
    """
    if horizon_seconds is None:
        return USUAL_HORIZON_SECONDS if USUAL_HORIZON_SECONDS in horizons else horizons[0]
    if horizon_seconds not in horizons:
        known = ", ".join(f"{horizon:g}" for horizon in horizons)
        raise InputError(
            "inference.model_horizon_seconds", horizon_seconds, f"the model knows {known}"
        )
    return horizon_seconds


def load_booster(
    pairs: Sequence[tuple[ModelBooster, bytes]], model_id: str, objective: str, features: int
) -> tuple[Scorer, ...]:
    """Load boosters.

    Raises:
        InputError: one was trained for another objective or reads another number of columns.
    """
    boosters = tuple(load_scorer(entry.file, raw, model_id) for entry, raw in pairs)
    for (entry, _), booster in zip(pairs, boosters, strict=True):
        if booster.objective != objective:
            remedy = f"a model of this kind needs {objective}"
            raise InputError(f"{model_id} objective of {entry.file}", booster.objective, remedy)
        if booster.features != features:
            remedy = f"the manifest lists {features} features; train the model again"
            raise InputError(f"{model_id} columns of {entry.file}", booster.features, remedy)
    return boosters


def calibrate(raw: F64, calibration: Calibration) -> F64:
    """Return published numbers: straight lines between the knots, or the factor."""
    if calibration.kind == "isotonic":
        return _between(raw, np.array(calibration.x), np.array(calibration.y))
    return raw * calibration.factor if calibration.kind == "factor" else raw


def _between(raw: F64, x: F64, y: F64) -> F64:
    """Return the straight lines between knots; beyond the ends, the ends."""
    clipped = np.minimum(np.maximum(raw, x[0]), x[-1])
    right = np.minimum(np.searchsorted(x, clipped, side="right"), len(x) - 1)
    left = np.maximum(right - 1, 0)
    width = np.where(right > left, x[right] - x[left], 1.0)
    result: F64 = y[left] + (y[right] - y[left]) * ((clipped - x[left]) / width)
    return result


def _total(members: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the sum, member by member in order."""
    total = members[0]
    for member in members[1:]:
        total = total + member
    return total


def weightiest(values: Sequence[float], count: int) -> list[int]:
    """Return the numbers of the values that are furthest from 0; of equals the first."""
    return sorted(range(len(values)), key=lambda number: (-abs(values[number]), number))[:count]


def _logistic(margins: NDArray[np.float32]) -> F64:
    """Return 1 / (1 + e^-m); many rows share a margin, which is computed once."""
    distinct, places = np.unique(margins, return_inverse=True)
    values = [1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, m)))) for m in distinct.tolist()]
    return np.array(values)[places]


def node_risks(first_rows: NDArray[np.int64], pods: NDArray[np.int64], risks: F64) -> F64:
    """Return 1 - prod((1 - p)^pods) over each node's rows.

    Multiplications only, row by row in order, so that the result does not depend on how a machine
    would add up or raise to a power.

    Args:
        first_rows: number of each node's first row; a node's rows are contiguous.
        pods: pods of each row.
        risks: probability of one pod of each row.
    """
    survives = _power(1.0 - risks, pods)
    ends = np.append(first_rows[1:], len(risks))
    product = np.ones(len(first_rows))
    for place in range(int((ends - first_rows).max(initial=0))):
        is_within = first_rows + place < ends
        product[is_within] *= survives[first_rows[is_within] + place]
    return 1.0 - product


def _power(base: F64, exponent: NDArray[np.int64]) -> F64:
    """Return base ** exponent by squaring."""
    result, square, left = np.ones(len(base)), base.copy(), exponent.copy()
    while left.any():
        odd = (left & 1).astype(bool)
        result[odd] *= square[odd]
        square = square * square
        left >>= 1
    return result
