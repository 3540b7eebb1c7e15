"""Built events of the outcome score and of what acting changed."""

from __future__ import annotations

from projections.score.money import UNITS
from schemas.score import ComponentDifference, OutcomeCounterfactual
from tests.builders import START_SECONDS, cycle_time

PRICES = {
    "jobs_completed": 0.1,
    "requests_served": 0.2,
    "waiting/none": -0.02,
    "energy": -0.1,
    "evictions": -0.002,
}


def make_difference(
    cycle: int, at_seconds: float | None = None, **totals: float
) -> OutcomeCounterfactual:
    """Return what acting has changed up to a cycle: totals by component (`waiting` is that of no class).

    A tenth of every total came in the newest cycle.
    """
    named = {"waiting/none" if name == "waiting" else name: total for name, total in totals.items()}
    components = tuple(
        ComponentDifference(
            name=name,
            unit=UNITS.get(name, "pod-hours"),
            step=total / 10.0,
            total=total,
            total_money=PRICES[name] * total,
        )
        for name, total in named.items()
    )
    money = sum(component.total_money for component in components)
    at = cycle_time(cycle) if at_seconds is None else at_seconds
    hours = max(15.0, at - START_SECONDS) / 3_600.0
    return OutcomeCounterfactual(
        cycle=cycle,
        cluster_time_seconds=at,
        step_seconds=15.0,
        total_seconds=3_600.0 * hours,
        currency="USD",
        components=components,
        step_money=money / 10.0,
        total_money=money,
        step_money_per_hour=money / 10.0 * 240.0,
        total_money_per_hour=money / hours,
    )
