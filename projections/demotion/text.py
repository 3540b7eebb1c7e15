"""Results of the demotion of models of demand, as lines for people."""

from __future__ import annotations

from projections.figures import duration, number, percent, signed_text
from projections.times import cluster_time
from schemas.foresight import DemandModelEvidence, DemotionCause, OutcomeForesight, shadows_text
from schemas.promotion import ModelState

WHY = {
    DemotionCause.SCARCE: "too little was seen",
    DemotionCause.HOLDS: "nothing speaks against it",
    DemotionCause.LOSES: "acting on it lost money",
    DemotionCause.MISSES: "its band is far off and it loses more than the simple rule",
    DemotionCause.BETTER: "better than the simple rule",
}
WHY_SHADOW = WHY | {DemotionCause.HOLDS: "not better than the simple rule yet"}


def evidence_text(one: DemandModelEvidence) -> str:
    """Return how one model stands and the numbers why."""
    shadow = one.state is ModelState.SHADOW
    role = "left out" if shadow else "drives"
    why = (WHY_SHADOW if shadow else WHY)[one.cause]
    wait = f"; not before {cluster_time(one.held_until_seconds)}" if one.held_until_seconds else ""
    figures = [text for text in (_actions(one), _bands(one)) if text]
    return f"{one.model_id} {role} ({why}){': ' if figures else ''}{'; '.join(figures)}{wait}"


def _actions(one: DemandModelEvidence) -> str:
    if not one.actions:
        return ""
    lead = one.median_lead_seconds
    ready = ""
    if lead is not None:
        ready = f", ready {duration(abs(lead))} {'before' if lead >= 0.0 else 'after'} it (median)"
    limits = ""
    if one.value_low is not None and one.value_high is not None:
        limits = f" ({signed_text(one.value_low)} to {signed_text(one.value_high)})"
    worth = f"worth {signed_text(one.value)}{limits} {one.currency}".rstrip()
    return f"right in {one.right} of {one.actions} actions{ready}, {worth}"


def _bands(one: DemandModelEvidence) -> str:
    if one.inside_ratio is None:
        return ""
    loss = one.loss_to_last_value
    beside = "" if loss is None else f", loss {number(loss)} of last_value's"
    return f"{percent(one.inside_ratio)} of {number(one.targets)} targets in the 80 % band{beside}"


def foresight_standing(judged: OutcomeForesight) -> tuple[str, ...]:
    """Return which models are left out since a judgement and until the next one, and how each one stands."""
    return (shadows_text(judged.shadows, judged.shadows), *(one.text for one in judged.models))
