"""Baselines must be fair: a logistic regression that converged, rules that count the past."""

from __future__ import annotations

import argparse
import math

import numpy as np
import pytest

from foresail.forecast.train import add_arguments, options_of
from lab.forecast.risk.booster_profiles import PROFILES
from lab.forecast.risk.boosting import (
    ABSOLUTE,
    CELL,
    Learning,
    Setting,
    fit_member,
    quantized_matrix,
)
from lab.forecast.risk.drift import MOVED, quantiles_of, stability
from lab.forecast.risk.logistic import Logistic, fit_logistic
from lab.forecast.risk.metrics import average_precision
from lab.forecast.risk.rules import FORMULA_INPUTS, formula_scores, rule_scores
from lab.forecast.risk.splits import fractions
from tests.forecast.risk.made import made_rows

SIZE = 4_000


def _matrix() -> tuple[np.ndarray, np.ndarray]:
    """A column that tells, one that tells by being missing, one constant, one of noise."""
    tell = fractions(np.arange(SIZE), 1) * 10.0
    gone = fractions(np.arange(SIZE), 2) < 0.3
    logit = tell * 0.6 - 6.0 + 2.0 * gone
    label = (fractions(np.arange(SIZE), 3) < 1 / (1 + np.exp(-logit))).astype(np.int8)
    noise = np.where(gone, np.nan, fractions(np.arange(SIZE), 4))
    matrix = np.stack([tell, np.full(SIZE, 7.0), noise], axis=1).astype(np.float32)
    return matrix, label


def test_logistic_regression_converges_and_knows_what_is_missing() -> None:
    """It converges within few steps, drops constants, and learns from the missing-indicator."""
    matrix, label = _matrix()
    model = fit_logistic(matrix, label, np.ones(SIZE))

    assert model.converged
    assert [0, 2] == model.kept
    assert [2] == model.indicators
    assert model.weights[-1] > 1.0
    assert math.fsum(model.predict(matrix)) == pytest.approx(int(label.sum()), rel=0.02)


def test_drawn_negatives_keep_the_true_rate() -> None:
    """Fitted on a fifth of the negatives, each weighing five, it expects as many failures as before."""
    matrix, label = _matrix()
    kept = (label == 1) | (fractions(np.arange(SIZE), 9) < 0.2)
    weight = np.where(label[kept] == 1, 1.0, 5.0)
    model = fit_logistic(matrix[kept], label[kept], weight)

    assert math.fsum(model.predict(matrix)) == pytest.approx(int(label.sum()), rel=0.1)


def test_logistic_regression_comes_back_from_json() -> None:
    """What training keeps gives the same probabilities as what it fitted."""
    matrix, label = _matrix()
    model = fit_logistic(matrix, label, np.ones(SIZE))

    assert (Logistic.from_json(model.to_json()).predict(matrix) == model.predict(matrix)).all()


def test_rules_beat_chance_on_crash_loops() -> None:
    """On jobs that fail again and again, the job rule is far above the base rate's score."""
    rows, past = made_rows(4)
    scores = rule_scores(rows, past, 0.05)
    base = average_precision(rows.label, scores["base rate"])

    assert base == pytest.approx(rows.label.mean())
    assert average_precision(rows.label, scores["job rule"]) > 2 * base


def test_the_seed_formula_needs_its_inputs() -> None:
    """Load counts 0.55 and 0.35, a restart 0.7; without its columns there is no such baseline."""
    matrix = np.array([[0.0, 0.0, 0.0], [0.8, 1.0, 0.0], [0.8, 1.0, 2.0], [np.nan] * 3], np.float32)

    actual = formula_scores(matrix, list(FORMULA_INPUTS))
    assert actual is not None
    assert [0.9, 0.11, 0.7, 0.0] == pytest.approx(actual.tolist(), abs=1e-6)
    assert formula_scores(matrix, ["a", "b", "c"]) is None


def test_drift_sees_a_moved_feature_and_a_new_gap() -> None:
    """The same values have not moved; shifted ones and newly missing ones have."""
    matrix, _ = _matrix()
    known = quantiles_of(matrix, np.ones(SIZE))
    same = stability(matrix, known)
    moved = stability(matrix + np.float32(3.0), known)
    gone = stability(np.where(np.isnan(matrix), 0.5, np.nan).astype(np.float32), known)

    assert max(same) < 0.01
    assert moved[0] > MOVED
    assert gone[0] > MOVED


def test_a_member_does_not_see_the_groups_it_leaves_out() -> None:
    """A column of a group that a setting leaves out is never split on, however much it tells."""
    matrix, label = _matrix()
    groups = {CELL: np.array([True, False, False]), ABSOLUTE: np.array([False, False, False])}
    learning = Learning(matrix, label, np.arange(SIZE), np.ones(SIZE), groups)
    bins = quantized_matrix(learning)
    used = [
        set(fit_member(setting, learning, bins, 5, 0).get_score(importance_type="weight"))
        for setting in (Setting("all", 3, 1.0), Setting("some", 3, 1.0, without=(CELL,)))
    ]

    assert "f0" in used[0]
    assert used[1] == {"f2"}


def test_chosen_parameters_go_before_a_members_own() -> None:
    """Of one level a tree splits once; the command's options name a profile's parameters, single ones first."""
    matrix, label = _matrix()
    none = np.zeros(3, dtype=bool)
    learning = Learning(matrix, label, np.arange(SIZE), np.ones(SIZE), {CELL: none, ABSOLUTE: none})
    bins, setting = quantized_matrix(learning), Setting("deep", 5, 1.0)
    own, chosen = (
        fit_member(setting, learning, bins, 3, 0, parameters).trees_to_dataframe()
        for parameters in ({}, {"max_depth": 1})
    )
    words = ["--dataset", "d", "--booster", "regularized_balanced", "--depth", "3"]
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    options = options_of(parser.parse_args(words))

    assert own.groupby("Tree").size().max() > 3
    assert chosen.groupby("Tree").size().max() == 3
    assert dict(options.chosen)["max_depth"] == 3
    assert dict(options.chosen)["eta"] == PROFILES["regularized_balanced"].learning_rate
    assert options.rounds == PROFILES["regularized_balanced"].n_estimators
    assert "chosen" not in options_of(parser.parse_args(["--dataset", "d"])).to_json()
