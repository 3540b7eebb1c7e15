"""The steps that are not over yet: what was counted and seen in them so far.

A rate holds for the time between two looks and is shared out among the steps that this time touches; a level
holds for the moment of the look. A step's value is the mean over what was seen of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from features.workload_history.grid import STEP_SECONDS, step_at

FEWEST_SECONDS = 60.0
"""Seconds of a step that rates must cover; what is known of less of it says too little."""

WHOLE_SECONDS = STEP_SECONDS - 1e-3
"""Seconds of a step that was seen whole, but for what is rounded off."""

Totals = dict[str, tuple[float, float]]
"""By series sum and weight: amount and seconds of a rate, values and looks of a level."""


class OpenSteps(NamedTuple):
    """Totals by step, oldest first; a rate can reach back into the step before the newest."""

    totals: dict[int, Totals]
    rates: frozenset[str]
    """Series whose weight is seconds."""


NO_STEPS = OpenSteps({}, frozenset())


def add_rates(
    steps: OpenSteps, begin_seconds: float, end_seconds: float, rates: Mapping[str, float]
) -> OpenSteps:
    """Return the steps after rates (amount a second) that held from one moment of cluster time to another."""
    totals = dict(steps.totals)
    step = step_at(begin_seconds)
    while rates and step * STEP_SECONDS < end_seconds:
        first, last = step * STEP_SECONDS, (step + 1) * STEP_SECONDS
        seconds = min(end_seconds, last) - max(begin_seconds, first)
        if seconds > 0.0:
            amounts = {name: (rate * seconds, seconds) for name, rate in rates.items()}
            totals[step] = _added(totals.get(step, {}), amounts)
        step += 1
    return OpenSteps(totals, steps.rates.union(rates))


def add_levels(steps: OpenSteps, time_seconds: float, levels: Mapping[str, float]) -> OpenSteps:
    """Return the steps after levels that were seen at a moment of cluster time."""
    if not levels:
        return steps
    step = step_at(time_seconds)
    seen = {name: (level, 1.0) for name, level in levels.items()}
    return steps._replace(totals={**steps.totals, step: _added(steps.totals.get(step, {}), seen)})


def close_steps(
    steps: OpenSteps, time_seconds: float
) -> tuple[OpenSteps, dict[int, dict[str, float]]]:
    """Return the steps still open at a moment of cluster time, and by step the means of those that are over."""
    now = step_at(time_seconds)
    means = {
        step: {
            name: total / weight
            for name, (total, weight) in totals.items()
            if name not in steps.rates or weight >= FEWEST_SECONDS
        }
        for step, totals in sorted(steps.totals.items())
        if step < now
    }
    left = {step: totals for step, totals in steps.totals.items() if step >= now}
    names = frozenset(name for totals in left.values() for name in totals)
    return OpenSteps(left, steps.rates & names), means


def whole_means(steps: OpenSteps, step: int, looks: float) -> dict[str, float]:
    """Return the means of one step by series, without those of which any part was not seen.

    Args:
        steps: with that step's totals.
        step: which.
        looks: how many looks a step has; one fewer may have fallen into it.
    """
    return {
        name: total / weight
        for name, (total, weight) in steps.totals.get(step, {}).items()
        if weight >= (WHOLE_SECONDS if name in steps.rates else max(1.0, looks - 1.0))
    }


def _added(before: Totals, new: Totals) -> Totals:
    after = dict(before)
    for name, (amount, weight) in new.items():
        total, so_far = after.get(name, (0.0, 0.0))
        after[name] = (total + amount, so_far + weight)
    return after
