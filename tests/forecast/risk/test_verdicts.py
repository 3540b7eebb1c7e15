"""The report's own checks: a constant fails them, a leak is called one, and words stay plain."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from lab.forecast.risk.bootstrap import RESAMPLES
from lab.forecast.risk.figures import SplitRows, calibration_figures, split_figures
from lab.forecast.risk.folds import choose
from lab.forecast.risk.rules import rule_scores
from lab.forecast.risk.splits import TITLES, UNSEEN, fractions
from lab.forecast.risk.verdicts import ReportCheck, checks_of, words_on
from tests.forecast.risk.made import made_rows


def _figures_and_checks(model: Any) -> tuple[dict[str, Any], dict[str, ReportCheck]]:
    """Figures and checks of a model that scores made rows as `model(rows)` says."""
    rows, past = made_rows(3, size=1_200)
    score = np.asarray(model(rows), dtype=np.float64)
    scores = {"model": score, **rule_scores(rows, past, float(rows.label.mean()))}
    figures = split_figures(SplitRows(rows, scores, score, score), past, seed=0)
    figures = {"title": TITLES[UNSEEN], **figures, "words": words_on(UNSEEN, figures)}
    rolling = calibration_figures(rows.label, score)
    return figures, {check.name: check for check in checks_of({UNSEEN: figures}, rolling)}


def test_a_constant_predictor_fails() -> None:
    """The base rate is perfectly calibrated in total, and fails for being a constant."""
    _, checks = _figures_and_checks(lambda rows: np.full(len(rows), rows.label.mean()))

    assert not checks["split 1: not a constant"].holds
    assert not checks["split 1: better than the job rule"].holds
    assert not checks["rolling windows: Brier skill"].holds
    assert checks["rolling windows: expected / observed"].holds


def test_a_leaking_feature_is_caught() -> None:
    """Scores that know the label reach what no honest model reaches, and are called a leak."""
    _, checks = _figures_and_checks(
        lambda rows: 0.9 * rows.label + 0.05 * fractions(rows.position, 1)
    )
    leak = checks["split 1: no sign of a leak"]

    assert not leak.holds
    assert "look for a leak" in leak.text


def test_a_useful_model_holds() -> None:
    """Scores that know which jobs are bad, and no more, pass every check but calibration's."""
    rows, _ = made_rows(3, size=1_200)
    rate = {job: rows.label[rows.job == job].mean() for job in np.unique(rows.job)}
    _, checks = _figures_and_checks(lambda rows: [0.5 * rate[job] + 0.01 for job in rows.job])

    assert checks["split 1: not a constant"].holds
    assert checks["split 1: better than the job rule"].holds
    assert checks["split 1: no sign of a leak"].holds


def test_words_say_where_a_model_does_not_help() -> None:
    """A model turned round is called worse than the rule, and its report says so in words."""
    figures, _ = _figures_and_checks(lambda rows: 0.5 - 0.4 * rows.label)
    text = " ".join(figures["words"])

    assert "WORSE than the job rule" in text
    assert "First failures" in text
    assert "It hardly helps there." in text


def test_figures_are_json_and_complete() -> None:
    """Every figure that the report promises is there and survives JSON."""
    figures, _ = _figures_and_checks(lambda rows: fractions(rows.position, 1))
    json.dumps(figures)

    assert RESAMPLES == figures["resamples"]
    assert {"raw", "calibrated", "rolling"} == figures["calibration"].keys()
    assert [0.001, 0.01, 0.05] == [one["share"] for one in figures["models"]["model"]["top"]]
    assert figures["rows"] == figures["first"]["rows"] + figures["repeats"]["rows"]
    assert figures["without_worst"]["rows"] < figures["rows"]
    assert (
        figures["lead"]["caught"]["failures"] + figures["lead"]["missed"]["failures"]
        == (figures["positives"])
    )
    assert 400.0 == figures["lead"]["missed"]["median_seconds"]


def test_a_member_must_win_clearly_to_be_chosen() -> None:
    """The mean stands unless one member is better by more than a standard error over the folds."""
    table = [
        {"ap_unseen_mean": 0.4, "ap_unseen_a": 0.41 + lift, "ap_unseen_b": 0.2}
        for lift in (0, 0.3, -0.3)
    ]
    steady = [{**row, "ap_unseen_a": 0.5} for row in table]

    assert "mean" == choose(table, ["a", "b"])[0]
    assert "a" == choose(steady, ["a", "b"])[0]
    assert "mean" == choose(table[:1], ["a", "b"])[0]
