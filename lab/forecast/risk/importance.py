"""Which features the model uses: by gain over all trees, and by contribution to real rows.

Gain says what helped in training; the mean absolute contribution (TreeSHAP, in log odds) to the
riskiest test rows says what drives the predictions that would be acted upon.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lab.forecast.risk.boosting import threads_for
from lab.forecast.risk.metrics import Floats
from lab.forecast.risk.rows import Matrix

if TYPE_CHECKING:
    import xgboost as xgb

CONTRIBUTION_ROWS = 500


def gains(boosters: Sequence[xgb.Booster], names: Sequence[str]) -> Floats:
    """Return each feature's share of the members' total gain; they sum to 1."""
    total = np.zeros(len(names))
    for booster in boosters:
        for name, gain in booster.get_score(importance_type="total_gain").items():
            total[int(name[1:])] += float(np.sum(gain))
    shares: Floats = total / max(total.sum(), 1e-12)
    return shares


def importances(boosters: Sequence[xgb.Booster], names: Sequence[str]) -> dict[str, Floats]:
    """Return each feature's splits (`weight`), mean gain and mean cover over all splits of all members.

    Gain is of the training loss, cover the sum of second derivatives of the rows at a split, as XGBoost counts
    them. A feature without a split has 0 of each.
    """
    sums = {kind: np.zeros(len(names)) for kind in ("weight", "total_gain", "total_cover")}
    for booster in boosters:
        for kind, total in sums.items():
            for name, value in booster.get_score(importance_type=kind).items():
                total[int(name[1:])] += float(np.sum(value))
    splits = np.maximum(sums["weight"], 1.0)
    return {
        "weight": sums["weight"],
        "gain": sums["total_gain"] / splits,
        "cover": sums["total_cover"] / splits,
    }


def contributions(boosters: Sequence[xgb.Booster], matrix: Matrix) -> Floats:
    """Return the members' mean absolute contribution of each feature to these rows, in log odds."""
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    if not len(matrix):
        return np.zeros(matrix.shape[1])
    rows = xgb.DMatrix(matrix, missing=np.nan, nthread=threads_for(matrix))
    total = np.zeros(matrix.shape[1])
    for booster in boosters:
        total += np.abs(booster.predict(rows, pred_contribs=True)[:, :-1]).mean(axis=0)
    mean: Floats = total / len(boosters)
    return mean
