"""The predecessors' way to choose among their profiles of a booster.

Kept to be compared with, not to be believed: rounds are chosen, profiles ranked and the score is told on the same
rows, the newest fold before the cut, so the winner looks better there than it is. No later row is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from bus.errors import InputError
from lab.forecast.risk.booster_profiles import BoosterProfile
from lab.forecast.risk.boosting import threads_for
from lab.forecast.risk.folds import rolling_folds
from lab.forecast.risk.metrics import Ranking
from lab.forecast.risk.options import Options
from lab.forecast.risk.rows import Bools, Rows, read_features, read_rows
from lab.forecast.risk.run_training import cut_for
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.splits import fractions, training_rows

BUDGET_SHARE = 0.01
"""Share of the rows that is raised: precision and recall are those of the riskiest hundredth."""
RECALL_WEIGHT, PRECISION_WEIGHT = 0.2, 0.05
"""In the score, beside average precision."""
LEAST_POSITIVES = 10


def score_profile(
    source: DatasetSource, horizons: Sequence[int], profile: BoosterProfile, seed: int = 42
) -> dict[str, float]:
    """Return means over the horizons (minutes): average precision, precision, recall, score, and trees.

    Raises:
        InputError: the dataset has no such horizon or no features, or too few failures in one of the two parts.
    """
    found = [_score(source, minutes, profile, seed) for minutes in horizons]
    means = {name: fmean(one[name] for one in found) for name in found[0]}
    score = (
        means["average_precision"]
        + RECALL_WEIGHT * means["recall_at_1_percent"]
        + PRECISION_WEIGHT * means["precision_at_1_percent"]
    )
    return {"score": score, **means}


def check_failures(source: DatasetSource, horizons: Sequence[int]) -> None:
    """Refuse a dataset that no profile can be scored on; raises InputError as `score_profile`."""
    for minutes in horizons:
        _parts(source, minutes, Options())


def _parts(source: DatasetSource, minutes: int, options: Options) -> tuple[Rows, Rows]:
    """Return the rows that a booster learns from and those that it is judged on; raises InputError."""
    rows = read_rows(source, minutes)
    cut = cut_for(source, rows, minutes, options)
    fold = rolling_folds(cut)[-1]
    allowed = training_rows(rows, cut)
    before = allowed & (rows.time_us <= fold.learnt_until_us)
    window = allowed & (rows.time_us >= fold.start_us) & (rows.time_us < fold.end_us)
    learnt, judged = rows.take(_drawn(rows, before, options)), rows.take(window)
    for name, part in (("learnt from", learnt), ("judged on", judged)):
        if part.positives < LEAST_POSITIVES:
            raise InputError(
                f"--dataset {source.dataset.name}: rows that are {name}",
                f"{part.positives} failures within {minutes} minutes",
                f"at least {LEAST_POSITIVES} are needed: give a dataset of a longer trace, or of a longer --horizon",
            )
    return learnt, judged


def _score(
    source: DatasetSource, minutes: int, profile: BoosterProfile, seed: int
) -> dict[str, float]:
    import xgboost as xgb  # noqa: PLC0415 - slow to load, with scikit-learn

    learnt, judged = _parts(source, minutes, Options(seed=seed))
    features = read_features(source, learnt.position)
    threads = threads_for(features)
    matrix = xgb.DMatrix(features, learnt.label, missing=np.nan, nthread=threads)
    judged_features = read_features(source, judged.position)
    judged_matrix = xgb.DMatrix(judged_features, judged.label, missing=np.nan, nthread=threads)
    rate = (len(learnt) - learnt.positives) / learnt.positives
    booster = xgb.train(
        {
            "objective": "binary:logistic", "eval_metric": "aucpr", "tree_method": "hist",
            "eta": profile.learning_rate, "max_depth": profile.max_depth,
            "subsample": profile.subsample, "colsample_bytree": profile.colsample_bytree,
            "min_child_weight": profile.min_child_weight, "alpha": profile.reg_alpha,
            "lambda": profile.reg_lambda, "scale_pos_weight": rate, "seed": seed, "verbosity": 0,
            "nthread": threads,
        },
        matrix,
        num_boost_round=profile.n_estimators,
        evals=[(judged_matrix, "judged")],
        early_stopping_rounds=profile.early_stopping_rounds,
        verbose_eval=False,
    )  # fmt: skip
    trees = int(booster.best_iteration) + 1
    scores = booster.predict(judged_matrix, iteration_range=(0, trees))
    ranking = Ranking(judged.label, scores)
    top = ranking.top(BUDGET_SHARE)
    return {
        "average_precision": ranking.average_precision(),
        "precision_at_1_percent": top.precision,
        "recall_at_1_percent": top.recall,
        "trees": float(trees),
    }


def _drawn(rows: Rows, chosen: Bools, options: Options) -> Bools:
    """Return the chosen rows with as many negatives as are read at all, drawn by the seed."""
    negatives = int(np.count_nonzero(chosen & (rows.label == 0)))
    share = min(1.0, options.pool_rows / max(1, negatives))
    drawn: Bools = chosen & ((rows.label == 1) | (fractions(rows.position, options.seed) < share))
    return drawn
