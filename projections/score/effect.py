"""What acting changed in plain words: a verdict, a sentence, and the few figures that people ask for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from projections.figures import duration, number, signed_text
from projections.score.tally import MILLION, WAITING
from projections.score.text import Verdict, changed, verdict_of
from schemas.score import ComponentDifference, OutcomeCounterfactual


@dataclass(frozen=True, slots=True)
class Measure:
    """Components that are shown as one figure."""

    name: str
    unit: str
    components: tuple[str, ...]
    more_is_better: bool = False
    factor: float = 1.0
    """Shown units in one unit of the components."""
    always: bool = False
    """Shown even where nothing differs."""


MEASURES = (
    Measure("jobs done", "jobs", ("jobs_completed",), more_is_better=True, always=True),
    Measure("jobs failed or dropped", "jobs", ("jobs_failed", "jobs_dropped")),
    Measure("requests served", "requests", ("requests_served",), more_is_better=True, factor=MILLION, always=True),
    Measure("requests failed or lost", "requests", ("requests_failed", "requests_lost"), factor=MILLION),
    Measure("time outside the SLO", "service-minutes", ("slo_services",)),
    Measure("waiting", "pod-hours", (WAITING,), always=True),
    Measure("held back", "pod-hours", ("held",)),
    Measure("work thrown away", "CPU-hours", ("job_cpu_lost",)),
    Measure("evictions and restarts", "pods", ("evictions", "restarts")),
    Measure("machines", "node-hours", ("nodes",)),
    Measure("energy", "kWh", ("energy",), always=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that acting may have changed: in this world minus in the untouched one."""

    name: str
    unit: str
    step: float
    """In the newest cycle."""
    total: float
    """Since the start."""
    more_is_better: bool

    def verdict(self, value: float) -> Verdict:
        """Return what a difference of this figure, `step` or `total`, means."""
        return verdict_of(value if self.more_is_better else -value)


def figures_of(difference: OutcomeCounterfactual) -> list[Figure]:
    """Return the score for an hour, then every measure that differs or is always shown."""
    unit = f"{difference.currency}/h"
    score = Figure(
        "score", unit, difference.step_money_per_hour, difference.total_money_per_hour, True
    )
    return [score, *(figure for one in MEASURES if (figure := _figure(one, difference.components)))]


def _figure(measure: Measure, components: Sequence[ComponentDifference]) -> Figure | None:
    own = [
        one
        for one in components
        if one.name in measure.components
        or (one.name.startswith(WAITING) and WAITING in measure.components)
    ]
    step, total = (
        measure.factor * math.fsum(values)
        for values in ((one.step for one in own), (one.total for one in own))
    )
    if not measure.always and number(step) == number(total) == "0":
        return None
    return Figure(measure.name, measure.unit, step, total, measure.more_is_better)


def effect_sentence(difference: OutcomeCounterfactual) -> str:
    """Return what acting has done so far."""
    since = f"since the start ({duration(difference.total_seconds)})"
    if not changed(difference.components):
        return f"No difference: with acting, all has come out as in the same world left alone, {since}."
    verdict = verdict_of(difference.total_money)
    money = signed_text(difference.total_money)
    amount = f"{money} {difference.currency} against the same world left alone, {since}"
    if verdict == "no difference":
        return f"No difference in money: {amount}; what differs weighs up."
    return f"Acting {verdict} so far: {amount}."
