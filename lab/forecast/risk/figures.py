"""The figures of one split: everything a report says about it, as JSON values
(`report_types`).

All on every row of the split at its true base rate. Order is judged on raw scores, probabilities on
calibrated ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lab.forecast.risk import metrics
from lab.forecast.risk.bootstrap import (
    RESAMPLES,
    BootstrapInterval,
    Paired,
    paired_average_precision,
)
from lab.forecast.risk.metrics import Floats
from lab.forecast.risk.past import JobCounts
from lab.forecast.risk.report_types import (
    BinFigures,
    CalibrationFigures,
    DifferenceFigures,
    IntervalFigures,
    LeadFigures,
    LeadTimes,
    ModelFigures,
    Population,
    SplitFigures,
    SubsetFigures,
    ThresholdRow,
    TopFigures,
    WindowFigures,
)
from lab.forecast.risk.rows import MICROSECONDS, Bools, Rows
from lab.forecast.risk.rules import BASE_RATE, FORMULA, JOB_RATE, NAME_RATE
from lab.forecast.risk.scoring import LOGISTIC, MODEL

SHARES = (0.001, 0.01, 0.05)
LEAD_SHARE = 0.01
WINDOWS = 5
BASELINES = (LOGISTIC, JOB_RATE, NAME_RATE, FORMULA, BASE_RATE)


@dataclass(frozen=True, slots=True)
class SplitRows:
    """One split's rows with all that was predicted of them."""

    rows: Rows
    scores: Mapping[str, Floats]
    """Raw, by model."""
    calibrated: Floats
    """The model's published probability."""
    rolling: Floats
    """The same under rolling recalibration."""


def split_figures(judged: SplitRows, past: JobCounts, seed: int) -> SplitFigures:
    """Return all figures of a split."""
    rows, label, job = judged.rows, judged.rows.label, judged.rows.job
    paired = paired_average_precision(label, judged.scores, job, seed)
    weights = metrics.job_weights(job)
    first = past.before_first_failure(job, rows.time_us)
    worst = np.isin(job, metrics.worst_jobs(label, job), invert=True)
    return {
        **_population(rows),
        "resamples": RESAMPLES,
        "models": {name: _model(rows, score, weights, paired.values[name]) for name, score in judged.scores.items()},
        "differences": _differences(paired),
        "without_worst": _subset(judged, worst, seed),
        "first": _subset(judged, first, seed),
        "repeats": _subset(judged, ~first, seed),
        "calibration": {
            "raw": calibration_figures(label, judged.scores[MODEL]),
            "calibrated": calibration_figures(label, judged.calibrated),
            "rolling": calibration_figures(label, judged.rolling),
        },
        "lead": _lead(rows, judged.scores[MODEL]),
        "windows": _windows(judged),
        "distinct_scores": len(np.unique(judged.scores[MODEL])),
    }  # fmt: skip


def _population(rows: Rows) -> Population:
    return {
        "rows": len(rows),
        "positives": rows.positives,
        "prevalence": rows.positives / len(rows) if len(rows) else math.nan,
        "jobs": len(np.unique(rows.job)),
        "failing_jobs": len(np.unique(rows.job[rows.label == 1])),
    }


def _model(rows: Rows, score: Floats, weights: Floats, interval: BootstrapInterval) -> ModelFigures:
    macro, jobs = metrics.macro_average_precision(rows.label, score, rows.job)
    ranking = metrics.Ranking(rows.label, score)
    return {
        "ap": _interval(interval),
        "ap_equal_jobs": ranking.average_precision(weights),
        "ap_macro": macro,
        "macro_jobs": jobs,
        "auroc": ranking.auroc(),
        "top": [_top(ranking.top(share)) for share in SHARES],
    }


def _interval(interval: BootstrapInterval) -> IntervalFigures:
    return {
        "value": interval.value,
        "low": interval.low,
        "high": interval.high,
        "resamples": interval.resamples,
    }


def _top(top: metrics.TopShare) -> TopFigures:
    return {
        "share": top.share,
        "rows": top.rows,
        "precision": top.precision,
        "recall": top.recall,
        "threshold": top.threshold,
    }


def _bin(one: metrics.Bin) -> BinFigures:
    return {
        "low": one.low,
        "high": one.high,
        "rows": one.rows,
        "expected": one.expected,
        "observed": one.observed,
        "ratio": one.ratio,
    }


def _differences(paired: Paired) -> dict[str, DifferenceFigures]:
    differences: dict[str, DifferenceFigures] = {}
    for name in BASELINES:
        if name in paired.values:
            step = paired.difference(MODEL, name)
            differences[name] = {**_interval(step), "excludes_zero": step.excludes_zero}
    return differences


def _subset(judged: SplitRows, chosen: Bools, seed: int) -> SubsetFigures:
    """Average precision of every model on some of the rows, and the differences."""
    rows = judged.rows.take(chosen)
    described = _population(rows)
    if not rows.positives:
        return SubsetFigures(
            rows=described["rows"],
            positives=described["positives"],
            prevalence=described["prevalence"],
            jobs=described["jobs"],
            failing_jobs=described["failing_jobs"],
        )
    scores = {name: score[chosen] for name, score in judged.scores.items()}
    paired = paired_average_precision(rows.label, scores, rows.job, seed)
    return {
        **described,
        "models": {name: _interval(value) for name, value in paired.values.items()},
        "differences": _differences(paired),
    }


def calibration_figures(
    label: metrics.Labels, probability: Floats, weight: Floats | None = None
) -> CalibrationFigures:
    """Return Brier, skill, expected / observed overall and by bin, ECE and MCE, and a sweep of thresholds."""
    ratio = metrics.expected_to_observed(label, probability, weight)
    figures: CalibrationFigures = {
        "brier": metrics.brier(label, probability, weight),
        "brier_skill": metrics.brier_skill(label, probability, weight),
        "expected_observed": ratio,
    }
    if weight is None or (weight == 1.0).all():
        wide = metrics.bins_between(label, probability, metrics.equal_width_edges())
        even = metrics.bins_of_equal_count(label, probability)
        named = metrics.bins_between(label, probability, metrics.PROBABILITY_EDGES)
        figures["ece_equal_width"] = metrics.calibration_error(wide)
        figures["ece_equal_count"] = metrics.calibration_error(even)
        figures["mce_equal_width"] = metrics.largest_calibration_error(wide)
        figures["mce_equal_count"] = metrics.largest_calibration_error(even)
        figures["bins"] = [_bin(one) for one in named]
        figures["sweep"] = [
            _threshold_row(one) for one in metrics.sweep_thresholds(label, probability)
        ]
    return figures


def _threshold_row(one: metrics.ThresholdFigures) -> ThresholdRow:
    return {
        "threshold": one.threshold,
        "alarms": one.alarms,
        "precision": one.precision,
        "recall": one.recall,
        "f1": one.f1,
    }


def _lead(rows: Rows, score: Floats) -> LeadFigures:
    """Time from the row to the failure, of failures in the riskiest 1 % and of those outside."""
    failed = rows.label == 1
    if not failed.any():
        return {}
    top = metrics.Ranking(rows.label, score).top(LEAD_SHARE)
    lead = (rows.end_us - rows.time_us)[failed] / MICROSECONDS
    caught = score[failed] >= top.threshold
    return {
        "share": LEAD_SHARE,
        "caught": _percentiles(lead[caught]),
        "missed": _percentiles(lead[~caught]),
    }


def _percentiles(seconds: Floats) -> LeadTimes:
    if not len(seconds):
        return {"failures": 0}
    low, middle, high = (float(value) for value in np.percentile(seconds, [10, 50, 90]))
    return {
        "failures": len(seconds),
        "p10_seconds": low,
        "median_seconds": middle,
        "p90_seconds": high,
        "over_a_minute_share": float(np.mean(seconds >= 60.0)),
    }


def _windows(judged: SplitRows) -> list[WindowFigures]:
    """Return figures of equally long stretches of the test time: drift as it happens."""
    times = judged.rows.time_us
    edges = np.linspace(int(times.min()), int(times.max()) + 1, WINDOWS + 1)
    table: list[WindowFigures] = []
    for low, high in itertools.pairwise(edges):
        now = (times >= low) & (times < high)
        rows = judged.rows.take(now)
        if not len(rows):
            continue
        table.append(
            {
                "start_seconds": float(low) / MICROSECONDS,
                **_population(rows),
                "ap": metrics.average_precision(rows.label, judged.scores[MODEL][now]),
                "mean_probability": float(np.mean(judged.calibrated[now])),
                "expected_observed": metrics.expected_to_observed(
                    rows.label, judged.calibrated[now]
                ),
                "expected_observed_rolling": metrics.expected_to_observed(
                    rows.label, judged.rolling[now]
                ),
            }
        )
    return table
