"""Training of one horizon: folds, members, baselines, calibration, thresholds.

Only rows before the cut are read. Sampling happens here and nowhere else: negatives are drawn by a
seeded hash of their row and weigh what they stand for, so that probabilities keep the true base
rate. Members are chosen on rolling folds; the curve is fitted on predictions of those folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bus.errors import InputError
from lab.forecast.risk.boosting import (
    BY_NAME,
    CELL,
    Learning,
    fit_member,
    mean_probability,
    quantized_matrix,
    save_booster,
)
from lab.forecast.risk.calibration import Curve, fit_curve, wins_later
from lab.forecast.risk.drift import Quantiles, quantiles_of
from lab.forecast.risk.every_age import draw_pool
from lab.forecast.risk.folds import (
    FOLDS,
    MEAN,
    Fold,
    OutOfFold,
    choose,
    fold_table,
    rolling_folds,
)
from lab.forecast.risk.logistic import Logistic, fit_logistic
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.options import Options
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.rows import Bools, Matrix, RiskData, Rows, read_features
from lab.forecast.risk.splits import Cut, fractions, illusion, training_rows

if TYPE_CHECKING:
    import xgboost as xgb

LEAST_POSITIVES = 10
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Trained:
    """Everything that training one horizon leaves."""

    members: Mapping[str, bytes]
    """UBJSON by name: those whose mean is the model."""
    curve: Curve
    chosen: str
    """Why these members."""
    logistic: Logistic
    out_of_fold: OutOfFold
    quantiles: Quantiles
    """Of the training features, for drift."""
    rows: int
    positives: int
    pool_rate: float
    """Share of negatives that were read."""
    fit_rate: float
    """Share of negatives that were learnt from."""
    jobs: Ints
    """Jobs learnt from, rising."""
    table: list[dict[str, float]]


@dataclass(frozen=True, slots=True)
class _Pool:
    """Training rows in memory."""

    rows: Rows
    matrix: Matrix
    weight: Floats
    groups: Mapping[str, Bools]
    rate: float

    def learning(self, chosen: Bools, options: Options) -> tuple[Learning, float]:
        """Return the chosen rows with their negatives drawn, and the share drawn."""
        negatives = chosen & (self.rows.label == 0)
        rate = min(1.0, options.fit_negatives / max(1, int(negatives.sum())))
        drawn = fractions(self.rows.position, options.seed + 1) < rate
        kept = np.flatnonzero(chosen & ((self.rows.label == 1) | drawn))
        label = self.rows.label[kept]
        weights = self.weight[kept] * np.where(label == 1, 1.0, 1.0 / rate)
        learning = Learning(self.matrix[kept], label, self.rows.job[kept], weights, self.groups)
        return learning, rate * self.rate


def steps_of(options: Options) -> int:
    """Return how many times `train_horizon` says what it does, at most."""
    members = len(options.members)
    return 2 + members * (FOLDS + 1)


def train_horizon(
    data: RiskData,
    rows: Rows,
    cut: Cut,
    past: JobCounts,
    groups: Mapping[str, Bools],
    options: Options,
    say: Say,
) -> Trained:
    """Return a trained horizon.

    Args:
        data: the dataset; only rows before the cut are read (any, for the illusion).
        rows: the horizon's rows.
        cut: where training ends.
        past: counts of the history.
        groups: features by group, which members may leave out.
        options: how to train.
        say: told what is being done, in words.

    Raises:
        InputError: fewer than ten positives before the cut.
    """
    learnt = _learnt_from(rows, cut, options)
    if rows.take(learnt).positives < LEAST_POSITIVES:
        raise InputError(
            "training rows",
            f"{rows.take(learnt).positives} positives",
            f"at least {LEAST_POSITIVES} are needed; take a longer trace or horizon",
        )
    say("reading features")
    pool = _pool(data, rows.take(learnt), past, groups, options)
    predictions = _out_of_fold(pool, rolling_folds(cut), past, options, say)
    table = fold_table(predictions)
    chosen, why = choose(table, list(options.members))
    names = list(options.members) if chosen == MEAN else [chosen]
    learning, rate = pool.learning(np.ones(len(pool.rows), dtype=bool), options)
    boosters = _fit(names, learning, options, say, "all training rows")
    say("logistic regression")
    logistic = fit_logistic(learning.matrix, learning.labels, learning.weights, groups[CELL])
    return Trained(
        members=dict(zip(names, map(save_booster, boosters), strict=True)),
        curve=_curve(predictions, chosen, cut, options),
        chosen=why,
        logistic=logistic,
        out_of_fold=_only(predictions, chosen),
        quantiles=quantiles_of(learning.matrix, learning.weights),
        rows=int(learnt.sum()),
        positives=pool.rows.positives,
        pool_rate=pool.rate,
        fit_rate=rate,
        jobs=np.unique(rows.job[learnt]),
        table=table,
    )


def _learnt_from(rows: Rows, cut: Cut, options: Options) -> Bools:
    if options.refit:
        return np.ones(len(rows), dtype=bool)
    if options.illusion:
        return illusion(rows, cut.segment, options.seed).train
    return training_rows(rows, cut)


def _pool(
    data: RiskData, rows: Rows, past: JobCounts, groups: Mapping[str, Bools], options: Options
) -> _Pool:
    if options.every_age:
        chosen, weights = draw_pool(rows, past, options.pool_rows, options.seed)
        kept = rows.take(chosen)
        rate = (len(kept) - kept.positives) / max(1, len(rows) - rows.positives)
        return _Pool(kept, read_features(data, kept.position), weights[chosen], groups, rate)
    negatives = len(rows) - rows.positives
    room = max(options.pool_rows - rows.positives, 1)
    rate = min(1.0, room / max(1, negatives))
    drawn = fractions(rows.position, options.seed) < rate
    kept = rows.take((rows.label == 1) | drawn)
    weight = np.where(kept.label == 1, 1.0, 1.0 / rate)
    return _Pool(kept, read_features(data, kept.position), weight, groups, rate)


def _fit(
    names: Sequence[str], learning: Learning, options: Options, say: Say, what: str
) -> list[xgb.Booster]:
    bins = quantized_matrix(learning)
    boosters = []
    for name in names:
        say(f"{what}: {name}")
        setting, chosen = BY_NAME[name], dict(options.chosen)
        boosters.append(fit_member(setting, learning, bins, options.rounds, options.seed, chosen))
    return boosters


def _out_of_fold(
    pool: _Pool, folds: Sequence[Fold], past: JobCounts, options: Options, say: Say
) -> OutOfFold:
    """Return what each fold's members say of its window; folds without positives are left out."""
    times = pool.rows.time_us
    parts: list[dict[str, Any]] = []
    for fold in folds:
        # A fold lies before the cut, and so before every later segment that a refit learns from, too.
        before = times <= fold.learnt_until_us
        if int(pool.rows.label[before].sum()) < LEAST_POSITIVES:
            continue
        window = np.flatnonzero((times >= fold.start_us) & (times < fold.end_us))
        if not len(window):
            continue
        learning, _ = pool.learning(before, options)
        boosters = _fit(options.members, learning, options, say, f"fold {fold.number}")
        matrix = pool.matrix[window]
        single = [mean_probability([booster], matrix) for booster in boosters]
        parts.append({
            "window": window,
            "fold": np.full(len(window), fold.number, dtype=np.int64),
            "unseen": past.first_event.of(pool.rows.job[window]) >= fold.start_us,
            "scores": np.vstack([*single, np.mean(single, axis=0)]),
        })  # fmt: skip
    if not parts:
        raise InputError(
            "rolling folds", "no positives", "the trace fails too late; choose --train-share"
        )
    window = np.concatenate([part["window"] for part in parts])
    scores = np.concatenate([part["scores"] for part in parts], axis=1)
    names = [*options.members, MEAN]
    return OutOfFold(
        position=pool.rows.position[window],
        fold=np.concatenate([part["fold"] for part in parts]),
        time_us=times[window],
        job=pool.rows.job[window],
        label=pool.rows.label[window],
        weight=pool.weight[window],
        unseen=np.concatenate([part["unseen"] for part in parts]),
        scores={name: scores[number] for number, name in enumerate(names)},
    )


def _curve(predictions: OutOfFold, chosen: str, cut: Cut, options: Options) -> Curve:
    """Return the curve; of attempts of every age only one that wins on later windows."""
    scores = predictions.scores[chosen]
    arguments = (predictions.label, predictions.job)
    if options.every_age and not wins_later(
        scores, *arguments, predictions.time_us, predictions.fold, cut.purge_us, predictions.weight
    ):
        return Curve()
    return fit_curve(scores, *arguments, predictions.weight)


def _only(predictions: OutOfFold, chosen: str) -> OutOfFold:
    return OutOfFold(
        predictions.position,
        predictions.fold,
        predictions.time_us,
        predictions.job,
        predictions.label,
        predictions.weight,
        predictions.unseen,
        {MEAN: predictions.scores[chosen]},
    )
