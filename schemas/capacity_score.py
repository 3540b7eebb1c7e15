"""How statements of what one replica bears did: part of `schemas.outcome.OutcomeForecast`."""

from __future__ import annotations

from schemas.model import DataModel
from schemas.numbers import Count


class CapacityScore(DataModel):
    """How statements of what one replica bears did, in windows of a minute of settled requests."""

    below: Count
    """Windows in which a replica got no more than it was said to bear."""
    held_below: Count
    """Those of them in which the objective held."""
    above: Count
    """Windows in which it got more."""
    broke_above: Count
    """Those of them in which the objective broke."""

    @property
    def windows(self) -> int:
        """How many there were."""
        return self.below + self.above


def capacity_score_text(score: CapacityScore) -> str:
    """Return how statements of what replicas bear did."""
    parts = (
        (score.held_below, score.below, "held below"),
        (score.broke_above, score.above, "broke above"),
    )
    told = [f"the objective {what} it in {part} of {of} minutes" for part, of, what in parts if of]
    return "what replicas bear: " + (", ".join(told) or "no minute was judged")
