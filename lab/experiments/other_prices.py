"""Whether what an experiment shows also holds at other prices: each price of the score by itself, smaller and larger.

What the arms did stays as it was played; only what it is worth is computed again, from the parts of the score that
each trial keeps. A policy that knew the other price would have acted otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lab.experiments.effects import ArmEffect, compute_effect
from lab.experiments.pairing import Pair, PairedMetric, Pairing, Stratum
from lab.experiments.results import TrialResult
from lab.experiments.spec import SCORE, Experiment

FACTORS = (1.0 / 3.0, 3.0)


@dataclass(frozen=True, slots=True)
class OtherPrice:
    """The hypothesis' effect with one price multiplied."""

    part: str
    """Of the score; what waits is one part, whatever its PriorityClass."""
    factor: float
    effect: ArmEffect


def other_prices(experiment: Experiment, pairing: Pairing) -> Sequence[OtherPrice]:
    """Return the effect on the score with each price multiplied; none where trials keep no parts of it.

    Args:
        experiment: whose hypothesis is about the score.
        pairing: of its two arms.
    """
    if experiment.hypothesis.metric != SCORE:
        return ()
    factors = experiment.hypothesis.price_factors or FACTORS
    found = []
    for part in _parts(pairing):
        for factor in factors:
            paired = _paired(pairing, part, factor)
            effect = compute_effect(paired, pairing.arm, pairing.reference, experiment.inference)
            if effect is not None:
                found.append(OtherPrice(part, factor, effect))
    return tuple(found)


def _parts(pairing: Pairing) -> Sequence[str]:
    """Return the parts of the score that any trial has, those of one price together."""
    trials = (trial for pair in pairing.pairs for trial in (pair.arm, pair.reference))
    return sorted({_part(name) for trial in trials for name in trial.components})


def _part(component: str) -> str:
    return component.partition("/")[0]


def _paired(pairing: Pairing, part: str, factor: float) -> PairedMetric:
    by_workload: dict[str, list[Pair]] = {}
    for pair in pairing.pairs:
        by_workload.setdefault(pair.workload, []).append(pair)
    strata = tuple(
        Stratum(
            workload,
            tuple(pair.seed for pair in pairs),
            np.array([_score(pair.arm, part, factor) for pair in pairs]),
            np.array([_score(pair.reference, part, factor) for pair in pairs]),
        )
        for workload, pairs in by_workload.items()
    )
    return PairedMetric(SCORE, strata, ())


def _score(trial: TrialResult, part: str, factor: float) -> float:
    return trial.metrics[SCORE] + (factor - 1.0) * sum(_of_part(trial, part))


def _of_part(trial: TrialResult, part: str) -> Iterable[float]:
    return (money for name, money in sorted(trial.components.items()) if _part(name) == part)
