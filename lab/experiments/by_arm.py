"""What is told of arms without a test: who bears more under them, and what they are like by themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.experiments.metrics import BY_ITSELF
from lab.experiments.results import Burden, TrialCost, TrialResult
from lab.experiments.statistics import Analysis

_HOUR = 3_600.0
MEASURES: tuple[str, ...] = tuple(Burden.model_fields)
"""What a payer may bear."""


@dataclass(frozen=True, slots=True)
class PayerChange:
    """How much more, in the mean world, a payer bears under an arm than under the reference."""

    arm: str
    workload: str
    payer: str
    worlds: int
    more: Mapping[str, float]
    """By `MEASURES`; below 0 it bears less."""


def payer_changes(analysis: Analysis) -> Iterable[PayerChange]:
    """Yield what changes for whom, arm by arm, those who bear most more first; equal ones are left out."""
    for arm, pairing in analysis.pairings.items():
        found: list[PayerChange] = []
        for workload in analysis.trials.workloads:
            pairs = [pair for pair in pairing.pairs if pair.workload == workload]
            payers = {
                payer
                for pair in pairs
                for side in (pair.arm, pair.reference)
                for payer in side.payers
            }
            for payer in sorted(payers):
                more = {
                    name: _mean([_burden(pair.arm, payer, name) - _burden(pair.reference, payer, name)
                                 for pair in pairs])
                    for name in MEASURES
                }  # fmt: skip
                if any(more.values()):
                    found.append(PayerChange(arm, workload, payer, len(pairs), more))
        yield from sorted(
            found, key=lambda one: -math.fsum(one.more[name] for name in MEASURES[:3])
        )


def _burden(result: TrialResult, payer: str, name: str) -> float:
    return float(getattr(result.payers.get(payer, Burden()), name))


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """Facts about an arm by itself; NaN where no trial has it."""

    arm: str
    trials: int
    means: Mapping[str, float]
    """Of metrics in `BY_ITSELF`, over the trials that have them."""
    controller_cpu_seconds: float
    """Processor time of what decides and acts, for an hour of cluster time."""
    cpu_seconds: float
    """Processor time of a trial."""


def facts_of_arms(analysis: Analysis, costs: Mapping[str, TrialCost]) -> Iterable[ArmFacts]:
    """Yield every arm that was tried, in the experiment's order."""
    world = analysis.experiment.world
    hours = (world.warm_up + world.length) / _HOUR
    for arm in analysis.experiment.arms:
        results = analysis.trials.results(arm.name)
        known = [costs[one.fingerprint] for one in results if one.fingerprint in costs]
        if results:
            yield ArmFacts(
                arm.name,
                len(results),
                {
                    name: _mean([one.metrics[name] for one in results if name in one.metrics])
                    for name in BY_ITSELF
                },
                _mean([cost.controller_cpu_seconds for cost in known]) / hours,
                _mean([cost.cpu_seconds for cost in known]),
            )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
