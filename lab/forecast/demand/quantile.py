"""Quantile regression of the peak, in spreads above the mean, one model for all families.

One model for all: shapes of usage repeat between cells, jobs and machines, a single cell has too few
windows to learn from, and live there is nothing else to choose by. Rows weigh as a miss costs:
spread over the largest window so far, so that the loss is the pinball loss of the share that is
reserved. Equal inputs give equal bytes: fixed threads, fixed seed, rows in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats
from lab.forecast.demand.baselines import ascending_quantiles
from lab.forecast.demand.origins import Origins
from lab.forecast.demand.split import Horizon

if TYPE_CHECKING:
    import xgboost as xgb

QUANTILES = (0.5, 0.9, 0.95, 0.99)
LEVEL_QUANTILES = (0.5, 0.9, 0.95)
"""Whose mean is the limit before calibration: steadier than any single one of them."""
HIGHEST_SCALES = 50.0
"""Peaks are cut here: what grows fifty-fold is not foreseen by any shape."""
FAMILY_ROWS = 15_000
EQUAL_ROWS = 5_000

Boosters = dict[float, "xgb.Booster"]
"""By quantile, ascending."""


@dataclass(frozen=True)
class Size:
    """How large the boosters are."""

    rounds: int
    depth: int
    eta: float
    threads: int = 2
    """Fixed for each size: sums of gradients depend on how many threads share them."""


FULL = Size(rounds=200, depth=6, eta=0.07)
SMALL = Size(rounds=60, depth=4, eta=0.15)
"""About a hundred kB per booster: what travels with the sources."""


@dataclass(frozen=True)
class LearningRows:
    """Rows to fit on: (n, features), (n,) peaks in spreads above the mean, (n,) weights."""

    features: NDArray[np.float32]
    numbers: Floats
    weights: Floats

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.numbers)


def learning_rows(rows: Origins, part: NDArray[np.bool_], horizon: Horizon) -> LearningRows:
    """Return one family's share of the pool: at most `FAMILY_ROWS`, evenly taken in time.

    Small families weigh less than large ones, but only by the square root of their size.
    """
    chosen = np.flatnonzero(part)
    if len(chosen) > FAMILY_ROWS:
        even = np.linspace(0, len(chosen) - 1, FAMILY_ROWS).astype(np.int64)
        chosen = chosen[even]
    units = rows.units.take(chosen)
    peaks = np.minimum(rows.peaks[chosen, horizon.column], HIGHEST_SCALES * units.scale)
    cost = units.spread / np.maximum(rows.so_far[chosen], units.scale)
    if len(chosen):
        cost = cost / cost.mean() * np.sqrt(EQUAL_ROWS / len(chosen))
    return LearningRows(rows.features[chosen], units.numbers(peaks), cost)


def pool_rows(shares: Sequence[LearningRows]) -> LearningRows:
    """Return all families' shares, one after another."""
    return LearningRows(
        np.concatenate([share.features for share in shares]),
        np.concatenate([share.numbers for share in shares]),
        np.concatenate([share.weights for share in shares]),
    )


def fit_quantiles(
    rows: LearningRows, size: Size, quantiles: Sequence[float] = QUANTILES
) -> Boosters:
    """Return one booster per quantile."""
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    bins = xgb.QuantileDMatrix(
        rows.features, rows.numbers, weight=rows.weights, max_bin=128, nthread=size.threads
    )
    return {
        quantile: xgb.train(
            {
                "objective": "reg:quantileerror",
                "quantile_alpha": quantile,
                "tree_method": "hist",
                "max_bin": 128,
                "max_depth": size.depth,
                "eta": size.eta,
                "subsample": 0.7,
                "colsample_bytree": 0.4,
                "min_child_weight": 5,
                "lambda": 1.0,
                "nthread": size.threads,
                "seed": 1,
                "verbosity": 0,
            },
            bins,
            num_boost_round=size.rounds,
        )
        for quantile in quantiles
    }


def raw_numbers(boosters: Boosters, features: NDArray[np.float32]) -> Floats:
    """Return the boosters' own numbers, (rows, quantiles): spreads above the mean."""
    columns = [booster.inplace_predict(features) for booster in boosters.values()]
    return np.stack(columns, axis=1).astype(np.float64)


def predict_quantiles(boosters: Boosters, rows: Origins) -> Floats:
    """Return each quantile of the peak in the family's unit, (rows, quantiles), never crossing."""
    return rows.units.usage(ascending_quantiles(raw_numbers(boosters, rows.features)))


def level(quantiles: Floats, levels: Sequence[float]) -> Floats:
    """Return the limit before calibration: the mean of `LEVEL_QUANTILES`."""
    columns = [list(levels).index(level) for level in LEVEL_QUANTILES]
    total: Floats = quantiles[:, columns].sum(axis=1) / len(columns)
    return total
