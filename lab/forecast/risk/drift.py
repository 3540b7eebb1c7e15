"""How far test features have moved from training: population stability by feature.

PSI = sum over bins of (test share - training share) * ln(test share / training share); missing is
a bin of its own. Above 0.25 a feature is commonly said to have moved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.forecast.risk.metrics import Floats
from lab.forecast.risk.rows import Matrix

BINS = 10
MOVED = 0.25
LEAST_SHARE = 1e-4


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Inner bin edges of each feature's training values and the share of each bin, missing last."""

    edges: list[list[float]]
    shares: list[list[float]]


def quantiles_of(matrix: Matrix, weights: Floats) -> Quantiles:
    """Return the training side: `weights` make drawn negatives count for those left out."""
    edges: list[list[float]] = []
    shares: list[list[float]] = []
    for column in range(matrix.shape[1]):
        values = matrix[:, column]
        present = values[~np.isnan(values)]
        inner = (
            np.unique(np.quantile(present, np.linspace(0, 1, BINS + 1)[1:-1], method="lower"))
            if len(present)
            else np.empty(0)
        )
        edges.append([float(edge) for edge in inner])
        shares.append(_shares(values, edges[-1], weights))
    return Quantiles(edges, shares)


def _shares(values: Matrix, edges: Sequence[float], weights: Floats) -> list[float]:
    missing = np.isnan(values)
    codes = np.where(missing, len(edges) + 1, np.searchsorted(edges, values, side="left"))
    counted = np.bincount(codes, weights=weights, minlength=len(edges) + 2)
    return [float(share) for share in counted / max(counted.sum(), 1e-12)]


def stability(matrix: Matrix, quantiles: Quantiles) -> list[float]:
    """Return each feature's PSI of `matrix` against the training values."""
    weights = np.ones(len(matrix))
    return [
        _psi(_shares(matrix[:, column], edges, weights), trained)
        for column, (edges, trained) in enumerate(
            zip(quantiles.edges, quantiles.shares, strict=True)
        )
    ]


def _psi(current: Sequence[float], trained: Sequence[float]) -> float:
    return math.fsum(
        (max(now, LEAST_SHARE) - max(then, LEAST_SHARE))
        * math.log(max(now, LEAST_SHARE) / max(then, LEAST_SHARE))
        for now, then in zip(current, trained, strict=True)
    )
