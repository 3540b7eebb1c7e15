"""Which features the model uses: by gain over all trees, and by contribution to real rows.

Gain says what helped in training; the mean absolute contribution (TreeSHAP, in log odds) to the
riskiest test rows says what drives the predictions that would be acted upon.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xgboost as xgb

from lab.forecast.risk.boosting import threads_for
from lab.forecast.risk.metrics import Floats
from lab.forecast.risk.rows import Matrix

CONTRIBUTION_ROWS = 500


def gains(boosters: Sequence[xgb.Booster], names: Sequence[str]) -> Floats:
    """Return each feature's share of the members' total gain; they sum to 1."""
    total = np.zeros(len(names))
    for booster in boosters:
        for name, gain in booster.get_score(importance_type="total_gain").items():
            total[int(name[1:])] += float(np.sum(gain))
    shares: Floats = total / max(total.sum(), 1e-12)
    return shares


def contributions(boosters: Sequence[xgb.Booster], matrix: Matrix) -> Floats:
    """Return the members' mean absolute contribution of each feature to these rows, in log odds."""
    if not len(matrix):
        return np.zeros(matrix.shape[1])
    rows = xgb.DMatrix(matrix, missing=np.nan, nthread=threads_for(matrix))
    total = np.zeros(matrix.shape[1])
    for booster in boosters:
        total += np.abs(booster.predict(rows, pred_contribs=True)[:, :-1]).mean(axis=0)
    mean: Floats = total / len(boosters)
    return mean
