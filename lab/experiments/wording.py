"""Effects in words: plain sentences with unit and interval, `harms` where it harms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.experiments.effects import ArmEffect, ConfidenceInterval, Verdict, WorkloadEffect
from lab.experiments.metrics import METRICS
from projections.figures import UNKNOWN, known_number, number, percent, signed_text

NAMES = {
    "score_dollars_per_hour": "outcome score",
    "requests_failed_ratio": "share of requests failed",
    "latency_p50_seconds": "median latency",
    "latency_p95_seconds": "95th percentile of latency",
    "latency_p99_seconds": "99th percentile of latency",
    "slo_minutes": "time outside the SLO",
    "job_seconds_mean": "time of a Job",
    "job_slowdown_mean": "slowdown of a Job",
    "cpu_seconds_done": "CPU time of completed Jobs",
    "cpu_seconds_lost": "CPU time lost",
    "waiting_pod_hours": "waiting of pods",
    "waiting_pods_most": "most pods waiting at once",
    "pending_clear_seconds": "longest time with a pod waiting",
    "recovery_pod_hours": "time until lost pods were replaced",
    "recovery_seconds_mean": "recovery from one loss",
    "held_pod_hours": "pods held back",
    "replicas_removed_hours": "replicas removed",
    "node_hours": "hours of machines",
    "activation_seconds_mean": "latency of an activation",
    "energy_kwh": "energy",
    "price_dollars": "price of rented machines",
}
VERDICTS: dict[Verdict, str] = {
    "helps": "helps",
    "harms": "harms",
    "unclear": "no difference shown",
    "equal": "equal in every world",
    "too few": "too few pairs",
}


def metric_name(metric: str) -> str:
    """Return what people call a metric."""
    return NAMES.get(metric, metric.replace("_", " "))


def amount(value: float, unit: str) -> str:
    """Return a number with its unit; a ratio as a percentage."""
    if math.isnan(value):
        return known_number(value)
    return percent(value) if unit == "ratio" else f"{number(value)} {unit}"


def signed_amount(value: float, unit: str) -> str:
    """Return a difference with sign and unit; one of ratios in percentage points."""
    if math.isnan(value):
        return known_number(value)
    if unit == "ratio":
        return f"{signed_scaled(value, unit)} percentage points"
    return f"{signed_scaled(value, unit)} {unit}"


def unit_of(metric: str) -> str:
    """Return a metric's unit; a ratio that is not of a whole has none of its own."""
    if metric == "job_slowdown_mean":
        return "times"
    return METRICS[metric].unit


def signed_scaled(value: float, unit: str) -> str:
    """Return a difference as `signed_amount` does, without naming its unit."""
    return signed_text(100.0 * value if unit == "ratio" else value)


def limits_text(interval: ConfidenceInterval, unit: str) -> str:
    """Return `LOW to HIGH`, without naming their unit; `-` without an interval."""
    if not interval.known:
        return UNKNOWN
    return f"{signed_scaled(interval.low, unit)} to {signed_scaled(interval.high, unit)}"


def factor_text(factor: float) -> str:
    """Return how many times as much."""
    return "a third of" if abs(factor - 1.0 / 3.0) < 1e-3 else f"{number(factor)} times"


def p_text(p: float) -> str:
    """Return `p = 0.012` or `p < 0.0001`."""
    text = number(p)
    return f"p {text[0]} {text[1:]}" if text.startswith("<") else f"p = {text}"


MOST_RELATIVE = 10.0
"""A larger part says only that the reference had next to nothing of it."""


def relative_text(effect: ArmEffect) -> str:
    """Return the difference as a part of the reference's mean, such as `, +12% of none's 3.2 kWh`."""
    if math.isnan(effect.relative) or not effect.difference.value:
        return ""
    mean = amount(effect.reference_mean, unit_of(effect.metric))
    if abs(effect.relative) > MOST_RELATIVE:
        return f", from {effect.reference}'s {mean}"
    sign = "+" if effect.relative > 0 else ""
    return f", {sign}{percent(effect.relative)} of {effect.reference}'s {mean}"


def difference_text(effect: ArmEffect, confidence: float) -> str:
    """Return the mean difference with unit, interval, and what part of the reference's mean it is."""
    unit = unit_of(effect.metric)
    difference = signed_amount(effect.difference.value, unit)
    interval = "too few pairs for an interval"
    if effect.difference.known:
        interval = f"{percent(confidence)} interval {limits_text(effect.difference, unit)}"
    return f"{difference} ({interval}{relative_text(effect)})"


def effect_sentence(effect: ArmEffect, confidence: float) -> str:
    """Return what an effect says, in a sentence."""
    name, text = metric_name(effect.metric), difference_text(effect, confidence)
    if effect.verdict == "equal":
        return f"{effect.arm} leaves {name} as {effect.reference} has it, in each of {effect.pairs} worlds."
    if effect.verdict == "too few":
        return f"{effect.arm} cannot be judged on {name}: {effect.pairs} pairs are too few."
    if effect.verdict == "unclear":
        seen = signed_amount(effect.detectable, unit_of(effect.metric)).lstrip("+")
        return (
            f"No difference of {effect.arm} is shown on {name}: {text}. With this spread a true difference of {seen} "
            "would have been seen in 8 of 10 such experiments."
        )
    better = percent(effect.better)
    return f"{effect.arm} {effect.verdict} on {name}: {text}; better in {better} of {effect.pairs} worlds."


def workload_sentence(effect: ArmEffect) -> str:
    """Return where an effect is not what it is over all, or that no workload differs."""
    by_verdict: dict[Verdict, list[WorkloadEffect]] = {}
    for one in effect.workloads:
        by_verdict.setdefault(one.verdict, []).append(one)
    parts = [
        f"{VERDICTS[verdict]} on {_with_amounts(found, effect.metric)}"
        for verdict in ("harms", "unclear", "equal", "helps", "too few")
        if (found := by_verdict.get(verdict))
    ]
    sentence = f"By workload, {metric_name(effect.metric)}: {'; '.join(parts)}."
    worst = effect.worst
    at_worst = signed_amount(worst.difference, unit_of(effect.metric))
    tenth = signed_amount(effect.worst_tenth, unit_of(effect.metric))
    return (
        f"{sentence} Worst world: {worst.workload} with seed {worst.seed}, {at_worst}; "
        f"mean of the worst tenth {tenth}."
    )


def _with_amounts(found: Sequence[WorkloadEffect], metric: str) -> str:
    unit = unit_of(metric)
    return ", ".join(
        f"{one.workload} ({signed_amount(one.difference.value, unit)})" for one in found
    )
