"""Judging a model of attempts of every age: window by window, age class by age class.

A probability that is right on average may be wrong for every age; a model that learned placements
was 31 times too high for attempts of unknown start. So expected / observed and the Brier score are
stated for every cell of (window of test time, age class) that has failures enough, next to what plain
rules reach. Nothing is averaged over windows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bus.errors import InputError
from lab.forecast.risk import metrics
from lab.forecast.risk.age_cells import ScoredRows, table_of_cells
from lab.forecast.risk.bootstrap import paired_average_precision
from lab.forecast.risk.calibration import Curve
from lab.forecast.risk.every_age import age_class
from lab.forecast.risk.figures import WINDOWS
from lab.forecast.risk.metrics import Floats, Ints
from lab.forecast.risk.past import FAIL, JobCounts, Occurrences
from lab.forecast.risk.rows import MICROSECONDS, Bools, Rows, read_events, read_rows
from lab.forecast.risk.rules import BASE_RATE
from lab.forecast.risk.run_evaluation import check_model
from lab.forecast.risk.scoring import MODEL, score
from lab.forecast.risk.source import DatasetSource
from lab.forecast.risk.splits import (
    LATER_SEEN,
    LATER_UNSEEN,
    NEW_JOBS,
    SEEN,
    TITLES,
    UNSEEN,
    Cut,
)
from lab.forecast.risk.store import TrainingStore
from lab.forecast.risk.training import Trained
from services.model_directory import ModelDirectory, read_model

QUICK_RULE = "failed within 15 minutes"
QUICK_US = 900 * MICROSECONDS


@dataclass(frozen=True, slots=True)
class AgesReport:
    """Results as JSON values."""

    model_id: str
    dataset: str
    figures: dict[str, Any]


def evaluate_ages(
    source: DatasetSource,
    folder: Path,
    minutes: int,
    dataset_sha256: str,
    progress: Callable[[str, float], None],
) -> AgesReport:
    """Return the figures of a model on a hazard dataset.

    Args:
        source: the dataset; of the model's own only what lies after its cut is judged, of another one
            every row of jobs that the model did not learn from.
        folder: the model directory.
        minutes: the horizon.
        dataset_sha256: hash of the dataset's manifest, by which a model knows its own.
        progress: told what is being done.

    Raises:
        InputError: no row may be judged, or none of them fails.
    """
    model = read_model(folder)
    manifest = model.manifest
    check_model(manifest, source)
    if str(minutes) not in manifest.metrics["cuts"]:
        raise InputError("--horizon", f"{minutes}m", "the model was not trained for it")
    same_dataset = manifest.data.dataset_sha256 == dataset_sha256
    seed = int(manifest.metrics["options"]["seed"])
    progress("reading rows", 0.0)
    rows, past = read_rows(source, minutes), JobCounts(read_events(source))
    trained = TrainingStore(folder).read(minutes)
    cut = Cut(**{name: int(one) for name, one in manifest.metrics["cuts"][str(minutes)].items()})
    known = None if trained is None else trained.jobs
    chosen = _judged(rows, cut, known, same_dataset=same_dataset)
    tested = rows.take(chosen)
    if not tested.positives:
        raise InputError("--dataset", "no test rows", "no failures lie after the model's cut")
    scores = _scores(source, tested, past, model, trained, minutes, progress)
    judged = ScoredRows(tested, scores, user_of_jobs(source, tested.job))
    names, windows = _windows(tested, cut)
    figures = {
        "minutes": minutes,
        "rows": len(tested),
        "positives": tested.positives,
        "same_dataset": same_dataset,
        "windows": [
            {"window": name, **_skills(judged, windows == number)}
            for number, name in enumerate(names)
        ],
        "cells": [
            cell.to_json()
            for cell in table_of_cells(judged, names, windows, age_class(tested), seed)
        ],
        "splits": _splits(tested, cut, past, scores, seed, same_dataset=same_dataset),
    }
    return AgesReport(manifest.model_id, str(source.manifest["name"]), figures)


def _scores(
    source: DatasetSource,
    tested: Rows,
    past: JobCounts,
    model: ModelDirectory,
    trained: Trained | None,
    minutes: int,
    progress: Callable[[str, float], None],
) -> dict[str, Floats]:
    """Return what the model publishes of each row, and what each rule says."""
    pairs = [
        (entry, raw)
        for entry, raw in zip(model.manifest.boosters, model.boosters, strict=True)
        if entry.horizon_seconds == minutes * 60.0
    ]
    scored = score(
        source, tested, past, tuple(raw for _, raw in pairs),
        None if trained is None else trained.logistic, model.manifest.data.prevalence,
        lambda done, size: progress(f"scored {done:,} of {size:,} rows", done / max(1, size)),
    )  # fmt: skip
    curve = Curve(pairs[0][0].calibration.x, pairs[0][0].calibration.y)
    return {
        **scored.scores,
        MODEL: curve.apply(scored.scores[MODEL]),
        QUICK_RULE: failed_lately(source, tested),
    }


def _judged(rows: Rows, cut: Cut, known: Ints | None, *, same_dataset: bool) -> Bools:
    if same_dataset:
        later: Bools = np.where(
            rows.segment == cut.segment, rows.time_us >= cut.cut_us, rows.time_us > cut.end_us
        )
        return later
    return np.ones(len(rows), bool) if known is None else ~np.isin(rows.job, known)


def failed_lately(source: DatasetSource, rows: Rows) -> Floats:
    """Return 1 where something of the job failed in the 15 minutes before the row, else 0."""
    events = read_events(source)
    failed = events.kind == FAIL
    fails = Occurrences(events.job[failed], events.time_us[failed])
    lately = fails.before(rows.job, rows.time_us) - fails.before(rows.job, rows.time_us - QUICK_US)
    return (lately > 0).astype(np.float64)


def user_of_jobs(source: DatasetSource, jobs: Ints) -> Ints:
    """Return the user that the first event of each job names; -1 for none."""
    first = pl.col("user").first()
    table = source.events().group_by("job", maintain_order=True).agg(first).sort("job").collect()
    place = np.searchsorted(table["job"].to_numpy(), jobs)
    users: Ints = table["user"].to_numpy().astype(np.int64)[place]
    return users


def _windows(rows: Rows, cut: Cut) -> tuple[list[str], Ints]:
    """Return names and numbers of windows: equal stretches of the cut's segment, and other segments."""
    numbers = np.zeros(len(rows), dtype=np.int64)
    names: list[str] = []
    for segment in np.unique(rows.segment):
        here = rows.segment == segment
        count = WINDOWS if segment == cut.segment else 1
        times = rows.time_us[here]
        edges = np.linspace(int(times.min()), int(times.max()) + 1, count + 1)
        numbers[here] = len(names) + np.searchsorted(edges[1:], times, side="right")
        names += [
            f"{low / MICROSECONDS:.0f} to {high / MICROSECONDS:.0f} s"
            for low, high in itertools.pairwise(edges)
        ]
    return names, numbers


def _skills(judged: ScoredRows, here: Bools) -> dict[str, Any]:
    """Return a window's figures: the model's as published, each rule's at its very best.

    Rules are no probabilities of attempts of every age, so each is first mapped to what was observed
    in this very window (isotonic), which flatters it.
    """
    label = judged.rows.label[here]
    probability = judged.scores[MODEL][here]
    skills = {}
    for name, scores in judged.scores.items():
        if name in {MODEL, BASE_RATE} or not label.any():
            continue
        skills[name] = metrics.brier_skill(label, best_rising_map(scores[here], label))
    return {
        "rows": len(label),
        "positives": int(label.sum()),
        "failing_jobs": len(np.unique(judged.rows.job[here][label == 1])),
        "average_precision": metrics.average_precision(label, probability),
        "expected_observed": metrics.expected_to_observed(label, probability),
        "brier": metrics.brier(label, probability),
        "brier_skill": metrics.brier_skill(label, probability),
        "brier_skill_of_rules_in_hindsight": skills,
    }


def best_rising_map(scores: Floats, label: metrics.Labels) -> Floats:
    """Return the rising function of the scores that fits the labels best (isotonic regression)."""
    from sklearn.isotonic import isotonic_regression  # noqa: PLC0415 - slow to load

    values, places, counts = np.unique(
        scores.astype(np.float32), return_inverse=True, return_counts=True
    )
    means = np.bincount(places, weights=label, minlength=len(values)) / counts
    fitted: Floats = isotonic_regression(means, sample_weight=counts.astype(np.float64))
    return fitted[places]


def _splits(
    rows: Rows,
    cut: Cut,
    past: JobCounts,
    scores: dict[str, Floats],
    seed: int,
    *,
    same_dataset: bool,
) -> dict[str, Any]:
    """Return average precision on placements, where a split of that kind has failures."""
    placed = rows.time_us == rows.start_us
    if same_dataset:
        tests = {name: test & placed for name, test in _time_splits(rows, cut, past).items()}
    else:
        tests = {NEW_JOBS: placed}
    result = {}
    for name, test in tests.items():
        label = rows.label[test]
        if not label.any():
            continue
        paired = paired_average_precision(
            label, {one: values[test] for one, values in scores.items()}, rows.job[test], seed
        )
        result[name] = {
            "title": TITLES[name],
            "rows": int(test.sum()),
            "positives": int(label.sum()),
            "expected_observed": metrics.expected_to_observed(label, scores[MODEL][test]),
            "brier_skill": metrics.brier_skill(label, scores[MODEL][test]),
            "average_precision": {
                one: {"value": value.value, "low": value.low, "high": value.high}
                for one, value in paired.values.items()
            },
            "model_minus": {
                one: {"value": step.value, "low": step.low, "high": step.high}
                for one in scores
                if one not in {MODEL, BASE_RATE}
                for step in [paired.difference(MODEL, one)]
            },
        }
    return result


def _time_splits(rows: Rows, cut: Cut, past: JobCounts) -> dict[str, Bools]:
    """Return the test rows of each split; rows to learn from are not among them."""
    seen = past.first_event.of(rows.job) < cut.cut_us
    same = rows.segment == cut.segment
    return {
        UNSEEN: same & ~seen,
        SEEN: same & seen,
        LATER_UNSEEN: ~same & ~seen,
        LATER_SEEN: ~same & seen,
    }
