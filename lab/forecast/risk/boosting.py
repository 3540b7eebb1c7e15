"""Boosted trees for rare failures: four settings, one mean.

No single setting is best: on few positives, validation chooses badly. The members differ in depth,
in whether jobs weigh equally, and in whether they see absolute counts (which tell single users,
programs and machines apart and do not carry over); their mean is steadier than the best of them.
None sees counts of the whole cell, which tell the hour and not the job: without them, d6rel rose from
0.43 to 0.46 on unseen jobs of the rolling folds. Equal inputs give equal bytes: the number of threads, among which sums
of gradients are shared, depends on the data alone; a fixed seed; rows in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lab.forecast.risk.every_age import FALLING, RISING, TELLING
from lab.forecast.risk.metrics import Floats, Labels, job_weights
from lab.forecast.risk.rows import Bools, Matrix

if TYPE_CHECKING:
    import xgboost as xgb

MOST_THREADS = 2
CELLS_PER_THREAD = 4_000_000
"""Below, a second thread costs more than it brings."""
MAX_BINS = 64
COLUMNS_PER_TREE = 0.3
"""Share of the columns that a member sees."""
ABSOLUTE, CELL = "absolute", "cell"
NOTHING_CHOSEN: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True)
class Setting:
    """One member of the mean."""

    name: str
    depth: int
    least_weight: float
    """`min_child_weight`: the least sum of second derivatives in a leaf."""
    equal_jobs: bool = False
    """Rows weigh (rows of their job)^-0.5."""
    without: tuple[str, ...] = ()
    """Groups of features that it does not see."""
    signed: bool = False
    """Risk can only rise with the columns of group `rising` and only fall with those of `falling`."""


SETTINGS = (
    Setting("d6", 6, 20.0, without=(CELL,)),
    Setting("d6rel", 6, 20.0, without=(CELL, ABSOLUTE)),
    Setting("d8rel", 8, 20.0, without=(CELL, ABSOLUTE)),
    Setting("d6reljw", 6, 20.0, equal_jobs=True, without=(CELL, ABSOLUTE)),
)
"""The members of a model by default."""
SMALL = Setting("d4", 4, 50.0, without=(CELL,))
"""For a model that must be small: about 80 kB."""
EVERY_AGE = (
    Setting("h4", 4, 50.0, without=(CELL,), signed=True),
    Setting("h4rel", 4, 50.0, without=(CELL, TELLING), signed=True),
    Setting("h4wide", 4, 200.0, without=(CELL,), signed=True),
    Setting("h6", 6, 50.0, without=(CELL, TELLING), signed=True),
)
"""The members of a model of attempts of every age (`lab/forecast/risk/every_age.py`)."""
BY_NAME: Mapping[str, Setting] = {
    setting.name: setting for setting in (*SETTINGS, SMALL, *EVERY_AGE)
}


@dataclass(frozen=True, slots=True)
class Learning:
    """Training rows, ready for any setting."""

    matrix: Matrix
    labels: Labels
    jobs: np.ndarray[Any, np.dtype[np.int64]]
    weights: Floats
    """A negative drawn one in n weighs n."""
    groups: Mapping[str, Bools]
    """Features by group: `absolute` and `cell`."""


def threads_for(matrix: Matrix) -> int:
    """Return how many threads share the work on a matrix: a function of its size alone."""
    return min(MOST_THREADS, 1 + matrix.size // CELLS_PER_THREAD)


def quantized_matrix(learning: Learning) -> xgb.QuantileDMatrix:
    """Return the rows in bins; all settings share them."""
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    return xgb.QuantileDMatrix(
        learning.matrix,
        learning.labels,
        max_bin=MAX_BINS,
        nthread=threads_for(learning.matrix),
        missing=np.nan,
    )


def fit_member(
    setting: Setting,
    learning: Learning,
    bins: xgb.QuantileDMatrix,
    rounds: int,
    seed: int,
    chosen: Mapping[str, float] = NOTHING_CHOSEN,
) -> xgb.Booster:
    """Return one trained member; `bins` are `quantized(learning)`, `chosen` parameters go before the setting's."""
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    allowed = np.ones(learning.matrix.shape[1], dtype=bool)
    for group in setting.without:
        allowed &= ~learning.groups[group]
    weights = learning.weights
    if setting.equal_jobs:
        shares = np.sqrt(job_weights(learning.jobs))
        weights = weights * shares * (weights.sum() / (weights * shares).sum())
    bins.set_info(
        weight=weights.astype(np.float32),
        feature_weights=allowed.astype(np.float32),
    )
    parameters = {**_parameters(setting, learning, float(allowed.mean()), seed), **chosen}
    return xgb.train(parameters, bins, num_boost_round=rounds)


def _parameters(
    setting: Setting, learning: Learning, seen_share: float, seed: int
) -> dict[str, Any]:
    rate = float((learning.labels * learning.weights).sum() / learning.weights.sum())
    signs = learning.groups[RISING].astype(int) - learning.groups[FALLING] if setting.signed else ()
    return {
        **({"monotone_constraints": tuple(int(sign) for sign in signs)} if setting.signed else {}),
        "objective": "binary:logistic",
        "tree_method": "hist",
        "eta": 0.08,
        "max_depth": setting.depth,
        "min_child_weight": setting.least_weight,
        "max_bin": MAX_BINS,
        "subsample": 0.6,
        "colsample_bytree": COLUMNS_PER_TREE * seen_share,
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


def load_booster(raw: bytes) -> xgb.Booster:
    """Return a booster from the bytes of its file."""
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    booster = xgb.Booster()
    booster.load_model(bytearray(raw))
    return booster


def save_booster(booster: xgb.Booster) -> bytes:
    """Return the bytes of a booster's file."""
    return bytes(booster.save_raw(raw_format="ubj"))
