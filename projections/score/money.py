"""Amounts in money: one scale for acting and not acting, for every policy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from projections.score.prices import ScorePrices
from projections.score.tally import HOUR, MILLION, Slo, Tally, missing_in
from schemas.score import (
    WAITING,
    ComponentDifference,
    OutcomeCounterfactual,
    OutcomeScore,
    ScoreComponent,
)

UNITS: Mapping[str, str] = {
    "requests_served": "million requests",
    "requests_failed": "million requests",
    "requests_lost": "million requests",
    "slo_services": "service-minutes",
    "jobs_completed": "jobs",
    "jobs_failed": "jobs",
    "jobs_dropped": "jobs",
    "job_cpu_done": "CPU-hours",
    "job_cpu_lost": "CPU-hours",
    "overdue": "pod-hours",
    "held": "pod-hours",
    "evictions": "pods",
    "restarts": "restarts",
    "nodes": "node-hours",
    "cores": "core-hours",
    "memory": "GiB-hours",
    "energy": "kWh",
}
"""Components in the order in which they are shown, with the unit of their amounts."""


@dataclass(frozen=True, slots=True)
class PricedComponent:
    """One component's price and amounts."""

    name: str
    unit: str
    price: float
    step: float
    total: float


def slo_of(prices: ScorePrices) -> Slo:
    """Return the objective of Services."""
    return Slo(latency_seconds=prices.slo_latency_seconds, bad_ratio=prices.slo_bad_ratio)


def score_of(tally: Tally, prices: ScorePrices) -> OutcomeScore:
    """Return what the time up to the tally's newest look was worth."""
    components = priced_components(tally, prices)
    step = math.fsum(component.price * component.step for component in components)
    total = math.fsum(component.price * component.total for component in components)
    return OutcomeScore(
        cycle=tally.look.cycle,
        cluster_time_seconds=tally.look.time_seconds,
        step_seconds=tally.step_seconds,
        total_seconds=tally.total_seconds,
        currency=prices.currency,
        components=tuple(
            ScoreComponent(
                name=component.name,
                unit=component.unit,
                price=component.price,
                step=component.step,
                total=component.total,
                total_money=component.price * component.total,
            )
            for component in components
        ),
        step_money=step,
        total_money=total,
        step_money_per_hour=_per_hour(step, tally.step_seconds),
        total_money_per_hour=_per_hour(total, tally.total_seconds),
        missing=missing_in(tally.look),
    )


def difference_of(acted: Tally, untouched: Tally, prices: ScorePrices) -> OutcomeCounterfactual:
    """Return what acting changed; both tallies have the same looks' cycles behind them."""
    ours = {component.name: component for component in priced_components(acted, prices)}
    theirs = {component.name: component for component in priced_components(untouched, prices)}
    names = sorted({*ours, *theirs}, key=_place)
    rows = [(name, ours.get(name), theirs.get(name)) for name in names]
    differences = [_difference(name, own, other) for name, own, other in rows]
    step = math.fsum(component.price * component.step for component in differences)
    total = math.fsum(component.price * component.total for component in differences)
    look = acted.look
    return OutcomeCounterfactual(
        cycle=look.cycle,
        cluster_time_seconds=look.time_seconds,
        step_seconds=acted.step_seconds,
        total_seconds=acted.total_seconds,
        currency=prices.currency,
        components=tuple(
            ComponentDifference(
                name=component.name,
                unit=component.unit,
                step=component.step,
                total=component.total,
                total_money=component.price * component.total,
            )
            for component in differences
        ),
        step_money=step,
        total_money=total,
        step_money_per_hour=_per_hour(step, acted.step_seconds),
        total_money_per_hour=_per_hour(total, acted.total_seconds),
        missing=tuple(dict.fromkeys((*missing_in(look), *missing_in(untouched.look)))),
    )


def _difference(
    name: str, own: PricedComponent | None, other: PricedComponent | None
) -> PricedComponent:
    shown = own or other
    assert shown is not None
    return PricedComponent(
        name=name,
        unit=shown.unit,
        price=shown.price,
        step=(own.step if own else 0.0) - (other.step if other else 0.0),
        total=(own.total if own else 0.0) - (other.total if other else 0.0),
    )


def priced_components(tally: Tally, prices: ScorePrices) -> tuple[PricedComponent, ...]:
    """Return every component of a tally, in the order of `UNITS`, waiting last, by class."""
    price_of = unit_prices(prices, tally.look.energy_price)
    rows = [
        PricedComponent(name, unit, price_of[name], *_amounts(tally, name))
        for name, unit in UNITS.items()
    ]
    for name in sorted(name for name in tally.total if name.startswith(WAITING)):
        factor = prices.waiting_class_factors.get(name.removeprefix(WAITING), 1.0)
        price = -prices.waiting_pod_hour * factor
        rows.append(PricedComponent(name, "pod-hours", price, *_amounts(tally, name)))
    return tuple(rows)


def _amounts(tally: Tally, name: str) -> tuple[float, float]:
    return tally.step.get(name, 0.0), tally.total.get(name, 0.0)


def unit_prices(prices: ScorePrices, energy_price: float) -> dict[str, float]:
    """Return the price of one unit of each component, `waiting` being that without a class; a cost is below 0."""
    cpu = prices.request_cpu_seconds * MILLION / HOUR * prices.request_cpu_hour
    return {
        "requests_served": prices.request_served_million + cpu,
        "requests_failed": -prices.request_failed_million,
        "requests_lost": -prices.request_lost_million,
        "slo_services": -prices.slo_service_minute,
        "jobs_completed": prices.job_completed,
        "jobs_failed": -prices.job_failed,
        "jobs_dropped": -prices.job_dropped,
        "job_cpu_done": prices.job_cpu_hour_done,
        "job_cpu_lost": -prices.job_cpu_hour_lost,
        WAITING.rstrip("/"): -prices.waiting_pod_hour,
        "overdue": -prices.overdue_pod_hour,
        "held": -prices.held_pod_hour,
        "evictions": -prices.eviction,
        "restarts": -prices.restart,
        "nodes": -prices.node_hour,
        "cores": -prices.core_hour,
        "memory": -prices.memory_gib_hour,
        "energy": -(energy_price if prices.energy_kwh is None else prices.energy_kwh),
    }


def _place(name: str) -> tuple[int, str]:
    return (list(UNITS).index(name) if name in UNITS else len(UNITS), name)


def _per_hour(money: float, seconds: float) -> float:
    return money * HOUR / seconds if seconds else 0.0
