"""What came of actions that rested on a forecast: part of `schemas.outcome.OutcomeForecast`."""

from __future__ import annotations

from pydantic import Field

from schemas.figures import duration, number, signed_text
from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds


class AheadScore(DataModel):
    """Outcome of one change of replicas that rested on a forecast and was executed."""

    service: str
    """`<namespace>/<name>`."""
    replicas_before: Count
    replicas_after: Count
    replicas_without: Count
    """Replicas that would have been wanted without the forecast."""
    level: Rounded
    """Requests a second from which on the rise was there: more than the replicas of before bear."""
    executed_seconds: Seconds
    until_seconds: Seconds
    """Cluster time until which it was followed."""
    rise_seconds: Seconds | None
    """Cluster time at which the rate passed `level`; None: not before the foreseen step was over."""
    ready_seconds: Seconds | None
    """Cluster time at which as many replicas as were asked for were ready; None: they never were."""
    lead_seconds: Rounded | None
    """How long before the rise they were ready, below 0 where they were late; None without a rise."""
    right: bool | None
    """Whether the rise came; None where a part of that time was not seen, and then it counts for nothing."""
    spared_seconds: Rounded = Field(ge=0)
    """Time within the objective, with more replicas ready than without the forecast, at a rate that those do not bear,
    until reacting to it would have had an effect.
    """
    extra_replica_seconds: Rounded = Field(ge=0)
    """Wanted replicas beyond those without the forecast, times seconds, as long."""
    value: Rounded | None
    """Money: minutes outside the objective that were spared, less the capacity of the further replicas; None without
    prices.
    """
    currency: str


class AheadTotals(DataModel):
    """Sums over every action of one model that is over."""

    actions: Count
    """Those that were seen whole."""
    right: Count
    """Those of them whose rise came."""
    in_time: Count
    """Those of them whose replicas were ready before it."""
    unseen: Count
    """Actions of which a part was not seen."""
    median_lead_seconds: Rounded | None
    """Of the newest whose rise came."""
    value: Rounded
    currency: str


def ahead_text(one: AheadScore) -> str:
    """Return what came of one action."""
    what = f"{one.service} {one.replicas_after} instead of {one.replicas_without} replicas"
    if one.right is None:
        return f"{what}: a part of that time was not seen"
    worth = "" if one.value is None else f", worth {signed_text(one.value)} {one.currency}"
    if one.lead_seconds is None:
        return f"{what}: the rise did not come{worth}"
    when = "before" if one.lead_seconds >= 0.0 else "after"
    return f"{what}, ready {duration(abs(one.lead_seconds))} {when} the rise{worth}"


def ahead_totals_text(model: str, totals: AheadTotals) -> str:
    """Return how often a model's foresight was right, and what it was worth."""
    if not totals.actions:
        return f"{model}: no action that rested on it was seen whole"
    lead = totals.median_lead_seconds
    ready = "" if lead is None else f", replicas ready {number(lead)} s before it (median)"
    return (
        f"{model} was right in {totals.right} of {totals.actions} actions{ready}, "
        f"worth {signed_text(totals.value)} {totals.currency}"
    )
