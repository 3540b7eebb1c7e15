"""Results of the promotion of risk models, as lines for people."""

from __future__ import annotations

from projections.figures import known_number, number, signed_text
from projections.times import cluster_time
from schemas.promotion import BY_SETTINGS, ModelEvidence, ModelState, OutcomeModels, PromotionCause

WHY = {
    PromotionCause.SCARCE: "too little was seen",
    PromotionCause.NO_SKILL: "no skill shown",
    PromotionCause.NO_LIFT: "its alarms are not shown to be better than chance",
    PromotionCause.SHOWN: "skill shown",
    PromotionCause.HARMFUL: "worse than a constant",
    PromotionCause.BREAKER: "a breaker tripped for what it decided",
    PromotionCause.NAMED: "named by the settings",
}


def evidence_text(one: ModelEvidence) -> str:
    """Return how one model stands and the numbers why."""
    figures = f"{number(one.positives)} of {number(one.targets)} targets failed, {_expected(one)}"
    if one.skill is not None:
        figures += f", Brier skill {signed_text(one.skill)}{_limits(one.skill_low, one.skill_high)}"
    figures += f", {number(one.hits)} of {number(one.alarms)} alarms hit"
    if one.lift is not None:
        figures += f", lift {number(one.lift)}{_limits(one.lift_low, one.lift_high)}"
    held = one.held_until_seconds
    wait = f"; a shadow until {cluster_time(held)} at least" if held else ""
    return f"{one.model_id} is {_role(one)} ({WHY[one.cause]}): {figures}{wait}"


def _role(one: ModelEvidence) -> str:
    return "active" if one.state is ModelState.ACTIVE else f"shadow {one.slot}"


def _expected(one: ModelEvidence) -> str:
    ratio = one.expected / one.observed if one.observed else None
    return f"expected / observed {known_number(ratio)}"


def _limits(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return " (interval unknown)"
    return f" ({signed_text(low)} to {signed_text(high)})"


def driving_texts(judged: OutcomeModels) -> tuple[str, ...]:
    """Return which model drives since a judgement and until the next one, and how each one stands."""
    return (
        f"risk is predicted by {judged.driving or BY_SETTINGS}",
        *(one.text for one in judged.models),
    )
