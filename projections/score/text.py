"""The outcome score and what acting changed, as lines for people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from projections.figures import duration, number, signed_score, signed_text
from projections.score.tally import WAITING
from schemas.effect import Effect
from schemas.score import ComponentDifference, OutcomeCounterfactual, OutcomeScore

Verdict = Literal["helps", "harms", "no difference"]
GROUPS: Mapping[str, tuple[str, ...]] = {
    "work": (
        *("requests_served", "requests_failed", "requests_lost"),
        *("jobs_completed", "jobs_failed", "jobs_dropped", "job_cpu_done", "job_cpu_lost"),
    ),
    "SLO": ("slo_services",),
    "waiting": ("waiting", "overdue", "held"),
    "disruptions": ("evictions", "restarts"),
    "machines": ("nodes", "cores", "memory"),
    "energy": ("energy",),
}
"""What people are shown instead of every component."""
MOST_DIFFERENCES = 8
LEAST_MONEY = 0.01
"""A smaller gain or loss, in the score's currency, is no difference: a cent."""
LEAST_RATIO = 0.01
"""Nor is one below this share of everything that changed, for better or worse."""
OVERLAP = "(by all actions so far: effects overlap)"
"""What has to stand beside a difference that is shown with one decision or one incident."""


def verdict_of(gain: float, moved: float = 0.0) -> Verdict:
    """Return what a gain in money means; below what matters it is no difference.

    Args:
        gain: in the score's currency, since the start or for an hour.
        moved: how much changed in all, gains and losses added up without their signs.
    """
    if abs(gain) < max(LEAST_MONEY, LEAST_RATIO * moved):
        return "no difference"
    return "helps" if gain > 0 else "harms"


def moved_money(difference: OutcomeCounterfactual) -> float:
    """Return how much money acting has moved, for better or worse."""
    return math.fsum(abs(part.total_money) for part in difference.components)


def verdict_in(difference: OutcomeCounterfactual) -> Verdict:
    """Return what acting has done so far."""
    return verdict_of(difference.total_money, moved_money(difference))


def score_text(score: OutcomeScore) -> str:
    """Return the score since it began, by groups, and that of the newest step."""
    parts = []
    for label, names in GROUPS.items():
        money = math.fsum(
            component.total_money
            for component in score.components
            if _group_name(component.name) in names
        )
        if money:
            parts.append(f"{label} {signed_score(money)}")
    made_of = f": {', '.join(parts)}" if parts else ""
    missing = f"; not shown: {', '.join(score.missing)}" if score.missing else ""
    return (
        f"{signed_score(score.total_money_per_hour)} {score.currency}/h since the start "
        f"({duration(score.total_seconds)}), {signed_score(score.step_money_per_hour)} in this cycle; "
        f"in all {signed_score(score.total_money)} {score.currency}{made_of}{missing}"
    )


def effect_text(effect: Effect) -> str:
    """Return what an action was expected to change, and by which components."""
    terms = ", ".join(
        f"{name.replace('_', ' ')} {signed_text(money)}" for name, money in effect.terms.items()
    )
    return (
        f"{signed_text(effect.net)} {effect.currency} in {duration(effect.horizon_seconds)} "
        f"(8 of 10 times {signed_text(effect.low)} to {signed_text(effect.high)}): {terms}"
    )


def difference_text(difference: OutcomeCounterfactual) -> str:
    """Return what acting has changed since the start."""
    head = f"since the start ({duration(difference.total_seconds)})"
    if not changed(difference.components):
        return f"nothing {head}"
    return (
        f"{signed_text(difference.total_money)} {difference.currency} {head}, "
        f"{signed_text(difference.total_money_per_hour)} {difference.currency}/h "
        f"({verdict_in(difference)}): "
        f"{components_text(difference.components)}"
    )


def window_text(before: OutcomeCounterfactual | None, after: OutcomeCounterfactual) -> str:
    """Return what acting changed between two cycles; from the start where `before` is None."""
    earlier = {} if before is None else {part.name: part for part in before.components}
    parts = [
        part
        if part.name not in earlier
        else part.model_copy(
            update={
                "total": part.total - earlier[part.name].total,
                "total_money": part.total_money - earlier[part.name].total_money,
            }
        )
        for part in after.components
    ]
    began = 0 if before is None else before.cycle
    seconds = after.total_seconds - (0.0 if before is None else before.total_seconds)
    cycles = f"cycles {began + 1} to" if after.cycle > began + 1 else "cycle"
    window = f"{cycles} {after.cycle} ({duration(seconds)})"
    if not changed(parts):
        return f"nothing in {window}"
    money = after.total_money - (0.0 if before is None else before.total_money)
    return f"{signed_text(money)} {after.currency} in {window}: {components_text(parts, most=3)}"


def changed(parts: Sequence[ComponentDifference]) -> list[ComponentDifference]:
    """Return the components that differ, those that are worth most first."""
    differing = [part for part in parts if number(part.total) != "0"]
    return sorted(differing, key=lambda part: (-abs(part.total_money), part.name))


def components_text(parts: Sequence[ComponentDifference], most: int = MOST_DIFFERENCES) -> str:
    """Return the components that differ, in their own units."""
    differing = changed(parts)
    texts = [
        f"{part.name.replace('_', ' ')} {signed_text(part.total)} {part.unit}"
        for part in differing[:most]
    ]
    more = len(differing) - len(texts)
    return ", ".join([*texts, *([f"{more} more"] if more > 0 else [])])


def _group_name(name: str) -> str:
    return WAITING.rstrip("/") if name.startswith(WAITING) else name
