"""Learning curves over seeds: the mean at each number of steps, with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from lab.learning.evaluation.statistics import Interval, interquartile_mean
from lab.learning.training.run import Evaluation


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The seeds' returns on the development split after so many steps."""

    steps: int
    seeds: int
    """How many had got so far; a seed that had ended early counts with its last evaluation."""
    mean: float
    interquartile: Interval
    """Interquartile mean over seeds and episodes."""


def curve(
    evaluations: Sequence[Sequence[Evaluation]], confidence: float = 0.95
) -> list[CurvePoint]:
    """Return a point for each number of steps at which every seed still running reached.

    Args:
        evaluations: each seed's, in the order of their steps.
        confidence: of the intervals.
    """
    runs = [run for run in evaluations if run]
    points = []
    for steps in sorted({evaluation.steps for run in runs for evaluation in run}):
        latest = [[evaluation for evaluation in run if evaluation.steps <= steps] for run in runs]
        rows = [reached[-1].returns for reached in latest if reached]
        if len(rows) < len(runs):
            continue
        points.append(
            CurvePoint(
                steps, len(rows), fmean(fmean(row) for row in rows),
                interquartile_mean([rows], confidence, seed=steps),
            )
        )  # fmt: skip
    return points
