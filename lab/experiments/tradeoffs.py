"""Costs and benefits of arms: arms on two axes, regret against an oracle, and what each part is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lab.experiments.effects import ArmEffect
from lab.experiments.metrics import METRICS
from lab.experiments.pairing import Trials
from lab.experiments.statistics import Analysis, pairing_effect

SERVICE = ("slo_minutes", "requests_failed_ratio", "waiting_pod_hours")
COST = ("price_dollars", "energy_kwh")
ORACLE = "oracle"
WITHOUT = "without-"


@dataclass(frozen=True, slots=True)
class ArmPoint:
    """An arm on two axes: means over workloads, each workload weighing the same."""

    arm: str
    cost: float
    service: float
    on_front: bool
    """Whether no other arm is as good on both and better on one (Pareto)."""


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """All arms between a metric of cost and one of service; less is better on both."""

    cost: str
    service: str
    worlds: int
    """Worlds in which every arm has both; the means are over these."""
    points: tuple[ArmPoint, ...]


def tradeoffs(analysis: Analysis) -> list[Tradeoff]:
    """Return the first metric of service that applies beside each metric of cost that is not 0 everywhere."""
    for service in SERVICE:
        found = [tradeoff for cost in COST if (tradeoff := _tradeoff(analysis, cost, service))]
        if found:
            return found
    return []


def _tradeoff(analysis: Analysis, cost: str, service: str) -> Tradeoff | None:
    arms = [arm.name for arm in analysis.experiment.arms]
    by_arm = {arm: _values(analysis.trials, arm, (cost, service)) for arm in arms}
    shared = set.intersection(*(set(values) for values in by_arm.values()))
    means = {
        arm: [_over_workloads({world: values[world][axis] for world in shared}) for axis in (0, 1)]
        for arm, values in by_arm.items()
    }
    if not shared or not any(of_cost for of_cost, _ in means.values()):
        return None
    points = [
        ArmPoint(arm, mean[0], mean[1], not any(_beats(other, mean) for other in means.values()))
        for arm, mean in means.items()
    ]
    return Tradeoff(cost, service, len(shared), tuple(points))


def _values(
    trials: Trials, arm: str, metrics: Sequence[str]
) -> dict[tuple[str, int], tuple[float, ...]]:
    return {
        (result.workload, result.seed): tuple(result.metrics[metric] for metric in metrics)
        for result in trials.results(arm)
        if all(math.isfinite(result.metrics.get(metric, math.nan)) for metric in metrics)
    }


def _over_workloads(values: dict[tuple[str, int], float]) -> float:
    grouped: dict[str, list[float]] = {}
    for (workload, _), value in sorted(values.items()):
        grouped.setdefault(workload, []).append(value)
    means = [math.fsum(one) / len(one) for one in grouped.values()]
    return math.fsum(means) / len(means) if means else math.nan


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and list(one) != list(other)


@dataclass(frozen=True, slots=True)
class Regret:
    """How far an arm stays behind one that knows the future."""

    effect: ArmEffect
    """The arm against the oracle, on the hypothesis' metric."""
    share: float
    """Part of the way from the reference to the oracle that the arm went; NaN where the oracle gains nothing."""


def regrets(analysis: Analysis) -> list[Regret]:
    """Return every arm's regret on the hypothesis' metric, the reference's too; empty without an arm `oracle`."""
    arms = [arm.name for arm in analysis.experiment.arms]
    if ORACLE not in arms:
        return []
    metric = analysis.experiment.hypothesis.metric
    oracle = analysis.effects.get((metric, ORACLE))
    possible = oracle.gain.value if oracle is not None else math.nan
    found = []
    for arm in arms:
        pairing = analysis.trials.pair(arm, ORACLE)
        effect = pairing_effect(pairing, metric, analysis.experiment.inference)
        if arm != ORACLE and effect is not None:
            share = 1.0 + effect.gain.value / possible if possible > 0.0 else math.nan
            found.append(Regret(effect, share))
    return found


@dataclass(frozen=True, slots=True)
class Ablation:
    """Effect of leaving a part out: the arm without it against the whole one."""

    arm: str
    whole: str
    effects: tuple[ArmEffect, ...]
    """On the hypothesis' metric first, then on the headline metrics."""


def ablations(analysis: Analysis) -> list[Ablation]:
    """Return every arm called `WHOLE-without-...` against that arm, and every one called `without-...` against the
    hypothesis' own arm, or what it is against.
    """
    names = [arm.name for arm in analysis.experiment.arms]
    hypothesis = analysis.experiment.hypothesis
    headline = [name for name, metric in METRICS.items() if metric.headline]
    metrics = list(dict.fromkeys([hypothesis.metric, *headline]))
    found = []
    for arm in names:
        whole = _whole_of(arm, names, hypothesis.arm, hypothesis.against)
        if whole is None:
            continue
        pairing = analysis.trials.pair(arm, whole)
        effects = (
            pairing_effect(pairing, metric, analysis.experiment.inference) for metric in metrics
        )
        kept = tuple(effect for effect in effects if effect is not None)
        if kept:
            found.append(Ablation(arm, whole, kept))
    return found


def _whole_of(arm: str, names: Sequence[str], of: str, against: str) -> str | None:
    """Return the arm that `arm` is a part of; None where it is none."""
    if not arm.startswith(WITHOUT):
        whole, is_part, _ = arm.partition(f"-{WITHOUT}")
        return whole if is_part and whole in names else None
    whole = against if of.startswith(WITHOUT) else of
    return whole if whole != arm else None
