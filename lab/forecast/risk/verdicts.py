"""The report's own checks, and plain words for where the model helps and where it does not.

A good figure can hide a useless model: a constant is well calibrated, and on jobs it has seen
almost anything ranks well. A check states a bound, the measured value and whether it holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lab.forecast.risk.figures import BASELINES
from lab.forecast.risk.report_types import (
    CalibrationFigures,
    DifferenceFigures,
    ReportedSplit,
    SplitFigures,
    SubsetFigures,
)
from lab.forecast.risk.rules import BASE_RATE, JOB_RATE
from lab.forecast.risk.scoring import MODEL
from lab.forecast.risk.splits import ILLUSION, LATER_UNSEEN, UNSEEN

LEAK_AP, LEAK_LEAD, CERTAIN_AP = 0.6, 0.3, 0.95
"""On unseen jobs a leak is likelier than a good model above 0.6, unless a plain rule comes near, too;
and above 0.95 in any case."""
LEAST_RATIO, MOST_RATIO = 0.8, 1.25
LEAST_SKILL = 1e-6
"""A constant comes out at 0 but for rounding."""
HONEST = (UNSEEN, LATER_UNSEEN)
FAILING_JOBS_FOR_A_WORD = 10


@dataclass(frozen=True, slots=True)
class ReportCheck:
    """One bound of the report."""

    name: str
    holds: bool
    text: str


def checks_of(
    splits: Mapping[str, ReportedSplit], rolling: CalibrationFigures
) -> list[ReportCheck]:
    """Return every check over a horizon's splits and its rolling windows."""
    checks: list[ReportCheck] = []
    for name, figures in splits.items():
        checks += _orders(name, figures)
        if name in HONEST:
            checks.append(_no_leak(name, figures))
    checks += _calibration(rolling)
    return checks


def _orders(split: str, figures: SplitFigures) -> list[ReportCheck]:
    distinct = figures["distinct_scores"]
    base = figures["differences"][BASE_RATE]
    rule = figures["differences"][JOB_RATE]
    return [
        ReportCheck(
            f"split {split}: not a constant",
            distinct > 1 and base["low"] > 0.0,
            f"{distinct} different scores; average precision - base rate {_interval(base)}",
        ),
        ReportCheck(
            f"split {split}: better than the job rule",
            rule["low"] > 0.0,
            f"average precision - job rule {_interval(rule)}",
        ),
    ]


def _no_leak(split: str, figures: SplitFigures) -> ReportCheck:
    ap = figures["models"][MODEL]["ap"]["value"]
    rule = figures["models"][JOB_RATE]["ap"]["value"]
    leaks = ap > CERTAIN_AP or (ap > LEAK_AP and ap - rule > LEAK_LEAD)
    return ReportCheck(
        f"split {split}: no sign of a leak",
        not leaks,
        f"average precision {ap:.3f} on unseen jobs, job rule {rule:.3f}"
        + (": too good, look for a leak" if leaks else ""),
    )


def _calibration(rolling: CalibrationFigures) -> list[ReportCheck]:
    ratio, skill = rolling["expected_observed"], rolling["brier_skill"]
    return [
        ReportCheck(
            "rolling windows: expected / observed",
            LEAST_RATIO <= ratio <= MOST_RATIO,
            f"{ratio:.2f} after rolling recalibration, wanted {LEAST_RATIO} to {MOST_RATIO}",
        ),
        ReportCheck(
            "rolling windows: Brier skill",
            skill > LEAST_SKILL,
            f"{skill:.3f} after rolling recalibration, wanted above 0",
        ),
    ]


def words_on(split: str, figures: SplitFigures) -> list[str]:
    """Return sentences on where the model helps on a split, and where it does not."""
    if split == ILLUSION:
        return [
            (
                "This split is an illusion: rows were drawn at random, so test rows have neighbours of "
                "the same crash loop in training. Believe none of its figures."
            )
        ]
    lines = [
        _against(name, figures["differences"][name])
        for name in BASELINES
        if name in figures["differences"]
    ]
    lines += [
        _on_part(what, part, figures["positives"])
        for part, what in (
            (figures["first"], "first failures (jobs without a failure so far)"),
            (figures["repeats"], "repeated failures"),
            (figures["without_worst"], "rows without the ten worst jobs"),
        )
    ]
    if figures["failing_jobs"] < FAILING_JOBS_FOR_A_WORD:
        lines.append(
            f"Only {figures['failing_jobs']} jobs fail here: these figures tell of single jobs."
        )
    return lines


def _against(name: str, step: DifferenceFigures) -> str:
    text = f"{_interval(step)} in average precision"
    if step["low"] > 0:
        return f"Better than the {name}: {text}."
    if step["high"] < 0:
        return f"WORSE than the {name}: {text}. It does not help; use the {name}."
    return f"No better than the {name} as far as these jobs can tell: {text}."


def _on_part(what: str, part: SubsetFigures, positives: int) -> str:
    if not part["positives"]:
        return f"No positives among {what}."
    ap = part["models"][MODEL]
    share = part["positives"] / positives
    lift = ap["value"] / part["prevalence"]
    text = (
        f"{what[0].upper()}{what[1:]} ({share:.0%} of positives): average precision "
        f"{ap['value']:.3f} ({ap['low']:.3f} to {ap['high']:.3f}) at a prevalence of "
        f"{part['prevalence']:.2%}, lift {lift:.0f}."
    )
    rule = part["differences"][JOB_RATE]
    if ap["value"] < 0.1:
        return f"{text} It hardly helps there."
    return text if rule["low"] > 0 else f"{text} It is not shown to beat the job rule there."


def _interval(step: DifferenceFigures) -> str:
    if math.isnan(step["low"]):
        return f"{step['value']:+.3f} (no interval)"
    return f"{step['value']:+.3f} ({step['low']:+.3f} to {step['high']:+.3f})"
