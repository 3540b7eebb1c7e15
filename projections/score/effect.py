"""Effect of acting in plain words: a verdict, a sentence, and the few figures that people ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass

from projections.figures import duration, number, signed_text
from projections.score.tally import MILLION
from schemas.score import (
    WAITING,
    OutcomeCounterfactual,
    Verdict,
    changed,
    moved_money,
    verdict_in,
    verdict_of,
)


@dataclass(frozen=True, slots=True)
class Measure:
    """Components that are shown as one figure."""

    name: str
    unit: str
    components: tuple[str, ...]
    factor: float = 1.0
    """Shown units in one unit of the components."""
    always: bool = False
    """Shown even where nothing differs."""


MEASURES = (
    Measure("jobs done", "jobs", ("jobs_completed",), always=True),
    Measure("jobs failed or dropped", "jobs", ("jobs_failed", "jobs_dropped")),
    Measure("requests served", "requests", ("requests_served",), factor=MILLION, always=True),
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
    step_verdict: Verdict
    """What the newest cycle's difference would be worth in an hour."""
    total_verdict: Verdict


def figures_of(difference: OutcomeCounterfactual) -> list[Figure]:
    """Return the score for an hour, then every measure that differs or is always shown."""
    step = difference.step_money_per_hour
    score = Figure(
        "score", f"{difference.currency}/h", step, difference.total_money_per_hour,
        verdict_of(step), verdict_in(difference),
    )  # fmt: skip
    return [score, *(figure for one in MEASURES if (figure := _figure(one, difference)))]


def _figure(measure: Measure, difference: OutcomeCounterfactual) -> Figure | None:
    own = [
        one
        for one in difference.components
        if one.name in measure.components
        or (one.name.startswith(WAITING) and WAITING in measure.components)
    ]
    step, total = (
        measure.factor * math.fsum(values)
        for values in ((one.step for one in own), (one.total for one in own))
    )
    if not measure.always and number(step) == number(total) == "0":
        return None
    money = math.fsum(one.total_money for one in own)
    step_money = math.fsum(one.step * one.total_money / one.total for one in own if one.total)
    hours = difference.step_seconds / 3_600.0
    return Figure(
        measure.name, measure.unit, step, total,
        verdict_of(step_money / hours if hours else 0.0), verdict_of(money, moved_money(difference)),
    )  # fmt: skip


def effect_sentence(difference: OutcomeCounterfactual) -> str:
    """Return what acting has done so far."""
    since = f"since the start ({duration(difference.total_seconds)})"
    if not changed(difference.components):
        return f"No difference: with acting, all has come out as in the same world left alone, {since}."
    verdict = verdict_in(difference)
    money = signed_text(difference.total_money)
    amount = f"{money} {difference.currency} against the same world left alone, {since}"
    if verdict == "no difference":
        return f"No difference in money: {amount}; what differs weighs up."
    return f"Acting {verdict} so far: {amount}."
