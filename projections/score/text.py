"""The outcome score and what acting changed, as lines for people."""

from __future__ import annotations

from projections.figures import duration, signed_text
from schemas.effect import Effect
from schemas.score import OutcomeCounterfactual, changed, components_text

OVERLAP = "(by all actions so far: effects overlap)"
"""What has to stand beside a difference that is shown with one decision or one incident."""


def effect_text(effect: Effect) -> str:
    """Return what an action was expected to change, and by which components."""
    terms = ", ".join(
        f"{name.replace('_', ' ')} {signed_text(money)}" for name, money in effect.terms.items()
    )
    return (
        f"{signed_text(effect.net)} {effect.currency} in {duration(effect.horizon_seconds)} "
        f"(8 of 10 times {signed_text(effect.low)} to {signed_text(effect.high)}): {terms}"
    )


def window_text(before: OutcomeCounterfactual | None, after: OutcomeCounterfactual) -> str:
    """Return what acting changed between two cycles; from the start where `before` is None."""
    earlier = {} if before is None else {part.name: part for part in before.components}
    parts = [
        part
        if part.name not in earlier
        else part.model_copy(
            update={
                "total": part.total - earlier[part.name].total,
                "total_money": part.total_money - earlier[part.name].total_money,
            }
        )
        for part in after.components
    ]
    began = 0 if before is None else before.cycle
    seconds = after.total_seconds - (0.0 if before is None else before.total_seconds)
    cycles = f"cycles {began + 1} to" if after.cycle > began + 1 else "cycle"
    window = f"{cycles} {after.cycle} ({duration(seconds)})"
    if not changed(parts):
        return f"nothing in {window}"
    money = after.total_money - (0.0 if before is None else before.total_money)
    return f"{signed_text(money)} {after.currency} in {window}: {components_text(parts, most=3)}"
