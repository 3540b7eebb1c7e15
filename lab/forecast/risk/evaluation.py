"""Evaluation: a model against its baselines, on every row of every split, in one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bus.errors import InputError
from lab.forecast.risk.boosting import load_booster
from lab.forecast.risk.calibration import Curve, recalibrate
from lab.forecast.risk.drift import MOVED, stability
from lab.forecast.risk.figures import (
    WINDOWS,
    SplitRows,
    calibration_figures,
    split_figures,
)
from lab.forecast.risk.folds import MEAN
from lab.forecast.risk.importance import CONTRIBUTION_ROWS, contributions, gains
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.report_types import (
    CheckFigures,
    FeatureFigures,
    FeatureValue,
    HorizonFigures,
    ReportedSplit,
    RollingPart,
)
from lab.forecast.risk.rows import Bools, RiskData, Rows
from lab.forecast.risk.scoring import MODEL, Scored, score
from lab.forecast.risk.splits import (
    ILLUSION,
    NEW_JOBS,
    TITLES,
    Cut,
    illusion,
    time_splits,
)
from lab.forecast.risk.training import Trained
from lab.forecast.risk.verdicts import checks_of, words_on

LISTED = 20
"""Features listed in a report."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The model under judgement, at one horizon."""

    members: tuple[bytes, ...]
    curve: Curve
    cut: Cut
    is_illusion: bool
    prior: float
    """Training prevalence."""
    seed: int
    trained: Trained | None
    """What training left beside the model; without it there is no logistic regression."""
    same_dataset: bool
    """Whether the model was trained on this dataset."""


def tests_of(rows: Rows, past: JobCounts, subject: Subject) -> dict[str, Bools]:
    """Return the test rows by split.

    On the dataset that the model learnt from: the splits of its cut. On another one: what lies
    after the cut, and every row of jobs that it did not learn from, whenever they ran.

    Raises:
        InputError: no row may be tested.
    """
    if subject.is_illusion:
        return {ILLUSION: illusion(rows, subject.cut.segment, subject.seed).test}
    tests = {
        name: time_split.test for name, time_split in time_splits(rows, subject.cut, past).items()
    }
    if not subject.same_dataset and subject.trained is not None:
        known = np.isin(rows.job, subject.trained.jobs)
        tests = {
            name: test & ~known if name in {"1", "2"} else test for name, test in tests.items()
        }
        tests[NEW_JOBS] = ~known
    tests = {name: test for name, test in tests.items() if rows.label[test].any()}
    if not tests:
        raise InputError("--dataset", "no test rows", "no failures lie after the model's cut")
    return tests


def evaluate_horizon(
    data: RiskData,
    rows: Rows,
    past: JobCounts,
    subject: Subject,
    progress: Callable[[int, int], None],
    chosen_tests: frozenset[str] = frozenset(),
) -> HorizonFigures:
    """Return all figures of one horizon.

    Args:
        data: the dataset.
        rows: the horizon's rows.
        past: counts of the history.
        subject: the model.
        progress: told (rows scored, rows).
        chosen_tests: splits to report; empty: all there are.
    """
    tests = tests_of(rows, past, subject)
    if chosen_tests:
        unknown = sorted(chosen_tests - tests.keys())
        if unknown:
            raise InputError("--split", unknown[0], f"this data has: {', '.join(tests)}")
        tests = {name: test for name, test in tests.items() if name in chosen_tests}
    chosen = np.logical_or.reduce(list(tests.values()))
    tested = rows.take(chosen)
    logistic = None if subject.trained is None else subject.trained.logistic
    scored = score(data, tested, past, subject.members, logistic, subject.prior, progress)
    rolling = _rolling(tested, scored.scores[MODEL], subject)
    calibrated = subject.curve.apply(scored.scores[MODEL])
    splits: dict[str, ReportedSplit] = {}
    for name, mask in tests.items():
        here = mask[chosen]
        judged = SplitRows(
            tested.take(here),
            {model: values[here] for model, values in scored.scores.items()},
            calibrated[here],
            rolling.later[here],
        )
        figures = split_figures(judged, past, subject.seed)
        splits[name] = {"title": TITLES[name], **figures, "words": words_on(name, figures)}
    pooled = calibration_figures(rolling.label, rolling.probability, rolling.weight)
    checks = checks_of(splits, pooled)
    return {
        "splits": splits,
        "rolling": {**pooled, "parts": rolling.parts},
        "folds": None if subject.trained is None else subject.trained.table,
        "features": _features(data, scored, subject),
        "checks": [
            CheckFigures(name=check.name, holds=check.holds, text=check.text) for check in checks
        ],
    }


@dataclass(frozen=True, slots=True)
class _Rolling:
    """Recalibrated probabilities over folds and test windows, the first window left out."""

    later: Floats
    """Of the test rows."""
    label: np.ndarray[Any, np.dtype[np.int8]]
    probability: Floats
    weight: Floats
    parts: list[RollingPart]


def _rolling(tested: Rows, scores: Floats, subject: Subject) -> _Rolling:
    """Recalibrate at the start of each fold and of each test window, on settled labels only.

    Nothing is known at the first start, so the first fold shows no calibration and is left out.
    """
    horizon = subject.cut.purge_us
    same = (tested.segment == subject.cut.segment) & (tested.time_us >= subject.cut.cut_us)
    later = np.unique(_starts(tested, same))
    if subject.trained is None or subject.is_illusion:
        again = recalibrate(
            scores, tested.label, tested.job, tested.time_us, later.tolist(), horizon
        )
        return _Rolling(again, tested.label, again, np.ones(len(tested)), [])
    predictions = subject.trained.out_of_fold
    folds = [
        int(predictions.time_us[predictions.fold == fold].min())
        for fold in np.unique(predictions.fold)
    ]
    times = np.concatenate([predictions.time_us, tested.time_us])
    label = np.concatenate([predictions.label, tested.label])
    weight = np.concatenate([predictions.weight, np.ones(len(tested))])
    raw = np.concatenate([predictions.scores[MEAN], scores])
    starts = sorted({*folds, *later.tolist()})
    job = np.concatenate([predictions.job, tested.job])
    again = recalibrate(raw, label, job, times, starts, horizon, weight)
    parts = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else np.inf
        now = (times >= start) & (times < end)
        if label[now].any():
            parts.append(_part(number, start, now, label, raw, again, weight))
    counted = times >= starts[min(1, len(starts) - 1)]
    return _Rolling(
        again[len(predictions.label) :], label[counted], again[counted], weight[counted], parts
    )


def _starts(tested: Rows, same: Bools) -> Ints:
    """Equally long windows over the tested time of the main segment, and each other segment."""
    starts: list[int] = []
    if same.any():
        times = tested.time_us[same]
        edges = np.linspace(int(times.min()), int(times.max()), WINDOWS + 1)[:-1]
        starts += [int(edge) for edge in edges]
    for segment in np.unique(tested.segment[~same]):
        starts.append(int(tested.time_us[~same & (tested.segment == segment)].min()))
    return np.asarray(starts, dtype=np.int64)


def _part(
    number: int,
    start: int,
    now: Bools,
    label: np.ndarray[Any, np.dtype[np.int8]],
    raw: Floats,
    again: Floats,
    weight: Floats,
) -> RollingPart:
    before = calibration_figures(label[now], raw[now], weight[now])
    after = calibration_figures(label[now], again[now], weight[now])
    return {
        "window": number + 1,
        "start_seconds": start / 1e6,
        "rows": int(now.sum()),
        "positives": int(label[now].sum()),
        "raw_expected_observed": before["expected_observed"],
        "expected_observed": after["expected_observed"],
        "brier_skill": after["brier_skill"],
    }


def _features(data: RiskData, scored: Scored, subject: Subject) -> FeatureFigures:
    names = list(data.feature_names)
    boosters = [load_booster(raw) for raw in subject.members]
    gain = gains(boosters, names)
    riskiest = np.argsort(-scored.scores[MODEL][scored.sample], kind="stable")[:CONTRIBUTION_ROWS]
    contribution = contributions(boosters, scored.matrix[np.sort(riskiest)])
    figures: FeatureFigures = {
        "by_gain": _top(names, gain),
        "by_contribution": _top(names, contribution),
        "sample_rows": len(scored.sample),
        "contribution_rows": len(riskiest),
    }
    if subject.trained is not None:
        moved = stability(scored.matrix, subject.trained.quantiles)
        figures["drift"] = _top(names, np.asarray(moved))
        figures["moved"] = int(np.count_nonzero(np.asarray(moved) > MOVED))
        figures["features"] = len(names)
    return figures


def _top(names: list[str], values: Floats) -> list[FeatureValue]:
    order = np.argsort(-values, kind="stable")[:LISTED]
    return [{"feature": names[place], "value": float(values[place])} for place in order]
