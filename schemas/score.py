"""Layer 6 in one honest unit: what the cluster's work was worth, and what acting changed.

Both come from the scoreboard and are computed from observations alone, never from what was intended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

from schemas.figures import duration, number, signed_score, signed_text
from schemas.model import DataModel, EventData
from schemas.numbers import Cycle, Rounded, Seconds

WAITING = "waiting/"
"""Prefix of the amounts of waiting, before the PriorityClass."""
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


class ScoreComponent(DataModel):
    """One thing that is counted, in its own unit and in money."""

    name: str
    """Such as `requests_served`, `energy` or, one for each PriorityClass, `waiting/none`."""
    unit: str
    price: Rounded
    """Money for one unit; below 0 it is a cost."""
    step: Rounded
    """Units since the observation before."""
    total: Rounded
    """Units since the score began."""
    total_money: Rounded


class OutcomeScore(EventData):
    """Score of the time up to this observation: benefit minus cost."""

    TYPE: ClassVar[str] = "foresail.outcome.score.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "score")

    cycle: Cycle
    """Cycle of the observation that ends the step."""
    cluster_time_seconds: Seconds
    step_seconds: Seconds
    """Cluster time since the observation before."""
    total_seconds: Seconds
    """Cluster time since the score began."""
    currency: str
    components: tuple[ScoreComponent, ...]
    step_money: Rounded
    total_money: Rounded
    step_money_per_hour: Rounded
    """The score of this step."""
    total_money_per_hour: Rounded
    """The score since it began."""
    missing: tuple[str, ...] = ()
    """What this observation does not show: `nodes`, `requests`, `job_cpu`."""

    def line(self) -> str:
        """Return the score since it began, and that of the newest step."""
        return f"cycle {self.cycle}: {score_text(self)}"


class ComponentDifference(DataModel):
    """Effect of acting of one component: acted minus untouched."""

    name: str
    unit: str
    step: Rounded
    total: Rounded
    total_money: Rounded


class OutcomeCounterfactual(EventData):
    """Effect of acting: this world minus the same world left alone, both up to one cycle."""

    TYPE: ClassVar[str] = "foresail.outcome.counterfactual.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "counterfactual")

    cycle: Cycle
    cluster_time_seconds: Seconds
    step_seconds: Seconds
    total_seconds: Seconds
    currency: str
    components: tuple[ComponentDifference, ...]
    step_money: Rounded
    total_money: Rounded
    """Above 0: acting has helped so far."""
    step_money_per_hour: Rounded
    total_money_per_hour: Rounded
    missing: tuple[str, ...] = ()
    """What one of the two observations does not show."""

    def line(self) -> str:
        """Return what acting has changed since the start."""
        return f"cycle {self.cycle}: acting changed {difference_text(self)}"


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
