"""Builders of looks for tests of the outcome score."""

from __future__ import annotations

from typing import Any

from projections.score.money import slo_of
from projections.score.prices import ScorePrices
from projections.score.tally import Levels, ScoreInput, Tally, add_score_input, begin_tally
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters

PRICES = ScorePrices()
SLO = slo_of(PRICES)


def service(name: str = "default/shop", **counts: float) -> ServiceCounters:
    """Return a Service's counters; `fast` of the served were answered within every bound."""
    fast = counts.pop("fast", counts.get("served", 0.0))
    fields: dict[str, Any] = {"served": 0.0, "failed": 0.0, "lost": 0.0, **counts}
    return ServiceCounters(service=name, served_within=(fast,) * len(LATENCY_BOUNDS), **fields)


def make_look(time_seconds: float, **fields: Any) -> ScoreInput:
    """Return a look at ten nodes of 4 cores, 16 GiB and 100 W in all; further fields are its counters."""
    levels = fields.pop("levels", Levels(nodes=10.0, cores=40.0, memory_gib=160.0, watts=1_000.0))
    counters = {"job_cpu_seconds_done": 0.0, "job_cpu_seconds_lost": 0.0, "services": ()}
    return ScoreInput(
        id=f"look-{time_seconds:g}",
        cycle=int(time_seconds),
        time_seconds=time_seconds,
        energy_price=0.1,
        levels=levels,
        work=WorkCounters(**{**counters, **fields}),
    )


def tally_of(*looks: ScoreInput) -> Tally:
    """Return the tally after some looks."""
    tally = begin_tally(looks[0])
    for look in looks[1:]:
        tally = add_score_input(tally, look, SLO)
    return tally
