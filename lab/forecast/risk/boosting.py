"""Boosted trees for rare failures: four settings, one mean.

No single setting is best: on few positives, validation chooses badly. The members differ in depth,
in whether jobs weigh equally, and in whether they see absolute counts of users, names and machines
(which tell single actors apart and do not carry over); their mean is steadier than the best of
them. Equal inputs give equal bytes: the number of threads, among which sums
of gradients are shared, depends on the data alone; a fixed seed; rows in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xgboost as xgb

from lab.forecast.risk.metrics import Floats, Labels, job_weights
from lab.forecast.risk.rows import Matrix

MOST_THREADS = 2
CELLS_PER_THREAD = 4_000_000
"""Below, a second thread costs more than it brings."""
MAX_BINS = 64
ABSOLUTE_KEYS = ("user", "name", "machine")


@dataclass(frozen=True, slots=True)
class Setting:
    """One member of the mean."""

    name: str
    depth: int
    least_weight: float
    """`min_child_weight`: the least sum of second derivatives in a leaf."""
    equal_jobs: bool = False
    """Rows weigh (rows of their job)^-0.5."""
    relative_only: bool = False
    """Without absolute counts by user, logical name and machine."""


SETTINGS = (
    Setting("d4", 4, 50.0),
    Setting("d6jw", 6, 20.0, equal_jobs=True),
    Setting("d6rel", 6, 20.0, relative_only=True),
    Setting("d4reljw", 4, 50.0, equal_jobs=True, relative_only=True),
)
BY_NAME: Mapping[str, Setting] = {one.name: one for one in SETTINGS}


@dataclass(frozen=True, slots=True)
class Learning:
    """Training rows, ready for any setting."""

    matrix: Matrix
    labels: Labels
    jobs: np.ndarray[Any, np.dtype[np.int64]]
    weights: Floats
    """A negative drawn one in n weighs n."""
    absolute: np.ndarray[Any, np.dtype[np.bool_]]
    """Per column: an absolute count of a user, name or machine."""


def threads_for(matrix: Matrix) -> int:
    """Return how many threads share the work on a matrix: a function of its size alone."""
    return min(MOST_THREADS, 1 + matrix.size // CELLS_PER_THREAD)


def quantized(learning: Learning) -> xgb.QuantileDMatrix:
    """Return the rows in bins; all settings share them."""
    return xgb.QuantileDMatrix(
        learning.matrix,
        learning.labels,
        max_bin=MAX_BINS,
        nthread=threads_for(learning.matrix),
        missing=np.nan,
    )


def fit_member(
    setting: Setting, learning: Learning, bins: xgb.QuantileDMatrix, rounds: int, seed: int
) -> xgb.Booster:
    """Return one trained member; `bins` are `quantized(learning)`."""
    weights = learning.weights
    if setting.equal_jobs:
        shares = np.sqrt(job_weights(learning.jobs))
        weights = weights * shares * (weights.sum() / (weights * shares).sum())
    bins.set_info(
        weight=weights.astype(np.float32),
        feature_weights=np.where(learning.absolute & setting.relative_only, 0.0, 1.0),
    )
    return xgb.train(_parameters(setting, learning, seed), bins, num_boost_round=rounds)


def _parameters(setting: Setting, learning: Learning, seed: int) -> dict[str, Any]:
    rate = float((learning.labels * learning.weights).sum() / learning.weights.sum())
    return {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "eta": 0.08,
        "max_depth": setting.depth,
        "min_child_weight": setting.least_weight,
        "max_bin": MAX_BINS,
        "subsample": 0.6,
        "colsample_bytree": 0.3,
        "lambda": 5.0,
        "base_score": min(max(rate, 1e-6), 1.0 - 1e-6),
        "nthread": threads_for(learning.matrix),
        "seed": seed,
        "verbosity": 0,
    }


def mean_probability(boosters: Sequence[xgb.Booster], matrix: Matrix) -> Floats:
    """Return the mean of the members' probabilities, one per row; as inference computes it."""
    total = np.zeros(len(matrix))
    for booster in boosters:
        booster.set_param({"nthread": threads_for(matrix)})
        total += booster.inplace_predict(matrix, missing=np.nan)
    return total / len(boosters)


def loaded(raw: bytes) -> xgb.Booster:
    """Return a booster from the bytes of its file."""
    booster = xgb.Booster()
    booster.load_model(bytearray(raw))
    return booster


def saved(booster: xgb.Booster) -> bytes:
    """Return the bytes of a booster's file."""
    return bytes(booster.save_raw(raw_format="ubj"))
