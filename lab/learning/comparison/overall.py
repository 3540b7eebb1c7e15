"""All workloads together: each slowdown over the best rule's on the same stream, so that none counts more.

Scores are resampled within each workload, training seeds and streams both: a stratified bootstrap (Agarwal et al.,
2021, Deep Reinforcement Learning at the Edge of the Statistical Precipice, NeurIPS 34).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.learning.comparison.benchmark import Arm, Floats
from lab.learning.comparison.judgement import MEASURE, THRESHOLDS, WorkloadJudgement
from lab.learning.evaluation.statistics import Interval, iqm, mean, median, shares_up_to, stratified


@dataclass(frozen=True, slots=True)
class Overall:
    """An arm over all workloads; 1 is the best rule of each."""

    arm: Arm
    interquartile: Interval
    mean: Interval
    median: Interval
    profile: tuple[Interval, ...]
    """Share of seeds and streams at or below each of THRESHOLDS, each workload weighing the same."""


def overall(judgements: Sequence[WorkloadJudgement], seed: int) -> list[Overall]:
    """Return every arm over all workloads, the smallest interquartile mean first.

    Args:
        judgements: of the workloads.
        seed: of the resampling.
    """
    if not judgements:
        return []
    arms = {one.played.arm.name: one.played.arm for one in judgements[0].standings}
    ratios = {name: [_ratios(one, name) for one in judgements] for name in arms}
    statistics = (iqm, mean, median, *map(shares_up_to, THRESHOLDS))
    found = []
    for name, arm in arms.items():
        middle, average, half, *shares = stratified(ratios[name], seed, statistics)
        found.append(Overall(arm, middle, average, half, tuple(shares)))
    return sorted(found, key=lambda one: one.interquartile.value)


def _ratios(judged: WorkloadJudgement, name: str) -> Floats:
    """Return an arm's slowdowns over the best rule's, seeds x streams."""
    of = {one.played.arm.name: one.played.values[MEASURE] for one in judged.standings}
    ratios: Floats = of[name] / np.asarray(of[judged.best_rule]).mean(axis=0)[None, :]
    return ratios
