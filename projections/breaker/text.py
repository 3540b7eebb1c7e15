"""Breakers as lines for people."""

from __future__ import annotations

from collections.abc import Iterable

from projections.figures import duration
from projections.times import cluster_time
from schemas.breaker import WHOLE, Breaker, BreakerCause, BreakerState

WHY = {
    BreakerCause.HARM: "acting lost too much against the untouched world",
    BreakerCause.SWITCHBACK: "acting harms by the switchback",
    BreakerCause.WORSE: "too many executions made it worse",
    BreakerCause.REFUSALS: "too many decisions were refused",
    BreakerCause.CHURN: "a target was turned to and fro",
    BreakerCause.SKILL: "the forecast of risk is worse than a constant",
}
REMEDY = "`foresail rearm`"


def unit_text(unit: str) -> str:
    """Return what a breaker is for."""
    return "everything" if unit == WHOLE else unit


def standing_text(breaker: Breaker) -> str:
    """Return how a breaker stands, until when, and how to end it."""
    why = WHY.get(breaker.cause, breaker.cause)
    until = cluster_time(breaker.until_seconds)
    if breaker.state is BreakerState.PROBATION:
        return (
            f"{unit_text(breaker.unit)} is on probation since {cluster_time(breaker.since_seconds)} ({why}): "
            f"one execution in {duration(breaker.spacing_seconds)}, at least until {until}"
        )
    return (
        f"{unit_text(breaker.unit)} is in shadow by its breaker ({why}): decided and explained, not executed, "
        f"until {until} or {REMEDY}"
    )


def standing_texts(standing: Iterable[Breaker]) -> tuple[str, ...]:
    """Return a line for every breaker that is not closed."""
    return tuple(standing_text(breaker) for breaker in standing)


def change_text(unit: str, state: BreakerState, cause: BreakerCause, why: str, until: float) -> str:
    """Return one sentence on a change.

    Args:
        unit: `all`, or a kind of action.
        state: the new one.
        cause: of the change.
        why: the numbers that tripped it; empty where nothing did.
        until: cluster time at which the state ends, unix seconds.
    """
    what = unit_text(unit)
    if state is BreakerState.SHADOW:
        return f"{what} goes to shadow until {cluster_time(until)}: {why}"
    if state is BreakerState.PROBATION:
        return f"{what} is tried again, at least until {cluster_time(until)}"
    who = "the operator's word" if cause is BreakerCause.RESET else "a probation without harm"
    return f"{what} acts again after {who}"
