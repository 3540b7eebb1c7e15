"""Layer 6: models of demand judged by what acting on them was worth and by their bands; one that loses money stops
driving by itself.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import Field

from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.promotion import ModelState

MOST_MODELS: Final = 20


class DemotionCause(StrEnum):
    """Why a model of demand stands where it stands."""

    SCARCE = "scarce"
    """Too little was seen since it came into its state."""
    HOLDS = "holds"
    """Enough was seen, and nothing speaks against it; of a shadow, nothing for it yet."""
    LOSES = "loses"
    """The whole interval of what acting on it was worth lies below 0."""
    MISSES = "misses"
    """The coverage of its 80 % band is far off, and its loss is larger than that of the simple rule."""
    BETTER = "better"
    """Its coverage is not far off, and its loss is smaller than that of the simple rule."""


class DemandModelEvidence(DataModel):
    """Evidence about one model, or the simple rule in its place, within the window and since it came into its state."""

    model_id: str
    state: ModelState
    """`active`: agents act on its forecasts; `shadow`: they leave them out."""
    cause: DemotionCause
    since_seconds: Seconds
    """Cluster time since which it has been in this state; 0: from the beginning."""
    held_until_seconds: Seconds = 0.0
    """Cluster time before which it does not drive again."""
    judgements: Count = 0
    """Judgements in a row that spoke for the other state."""
    actions: Count = 0
    """Executed actions that rested on it and were seen whole."""
    right: Count = 0
    """Those of them whose rise came."""
    median_lead_seconds: Rounded | None = None
    """How long before the rise replicas were ready, where it came."""
    value: Rounded = 0.0
    """Money that these actions were worth in all,"""
    value_low: Rounded | None = None
    """and the limits of its interval; None while there are too few."""
    value_high: Rounded | None = None
    currency: str = ""
    targets: Count = 0
    """Scored targets of its bands."""
    blocks: Count = 0
    """Blocks of time that they lie in."""
    inside_ratio: Ratio | None = None
    """Share within the 80 % band."""
    inside_outermost_ratio: Ratio | None = None
    """Share within the 90 % band."""
    loss_to_last_value: Rounded | None = None
    """Weighted quantile loss in those of the rule that the newest step stays; None while too little was compared."""
    text: str


class OutcomeForesight(EventData):
    """Every model of demand judged, and which ones agents leave out from the next observation on."""

    TYPE: ClassVar[str] = "foresail.outcome.foresight.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "foresight")

    cycle: Cycle
    """Cycle of the observation at which they were judged."""
    cluster_time_seconds: Seconds
    window_seconds: Seconds
    """Cluster time that was looked at."""
    confidence_ratio: Ratio
    """Confidence of the interval of the value, two-sided."""
    shadows: tuple[str, ...] = ()
    """Ids of the models whose forecasts are left out, by name."""
    before: tuple[str, ...] = ()
    """The same before this judgement."""
    models: tuple[DemandModelEvidence, ...] = Field(default=(), max_length=MOST_MODELS)
    """By name."""
    text: str

    def line(self) -> str:
        """Return which models are left out, and how each one stands."""
        return f"cycle {self.cycle}: {'; '.join(foresight_texts(self))}"


def shadows_text(before: tuple[str, ...], shadows: tuple[str, ...]) -> str:
    """Return which models of demand are left out, and whether that is new."""
    gone = [name for name in shadows if name not in before]
    back = [name for name in before if name not in shadows]
    if gone or back:
        parts = [f"{name} goes back to shadow" for name in gone] + [
            f"{name} drives again" for name in back
        ]
        return f"{', '.join(parts)} from the next observation on"
    return (
        f"forecasts of demand left out: {', '.join(shadows)}"
        if shadows
        else "every model of demand drives"
    )


def foresight_texts(judged: OutcomeForesight) -> tuple[str, ...]:
    """Return a line on which models are left out, and one for each model that was judged."""
    return (shadows_text(judged.before, judged.shadows), *(one.text for one in judged.models))
