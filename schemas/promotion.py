"""Layer 6: the promotion of risk models, which lets one drive while it shows skill live, and takes it back."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from pydantic import Field

from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Ratio, Rounded, Seconds
from schemas.prediction import SHADOW_SLOTS


class ModelState(StrEnum):
    """Use of a model's predictions."""

    SHADOW = "shadow"
    """They are scored, and nobody acts on them."""
    ACTIVE = "active"
    """They are `prediction.risk`."""


class PromotionCause(StrEnum):
    """Why a model stands where it stands."""

    SCARCE = "scarce"
    """Too few failures were seen, or none of its alarms was scored: nothing can be said of it."""
    NO_SKILL = "no_skill"
    """The interval of its Brier skill does not lie above 0."""
    NO_LIFT = "no_lift"
    """The interval of its alarms' lift does not lie above 1."""
    SHOWN = "shown"
    """Both intervals lie above their bounds."""
    HARMFUL = "harmful"
    """The whole interval of its Brier skill lies below 0: worse than a constant."""
    BREAKER = "breaker"
    """A breaker tripped for what was decided by it."""
    NAMED = "named"
    """The settings name it as the active model; it is only watched."""


class ModelEvidence(DataModel):
    """Evidence about one model within the window, over targets that were not acted upon."""

    slot: Count
    """Where it predicts: a shadow's place, or 0 for a model that the settings name as the active one."""
    model_id: str
    state: ModelState
    cause: PromotionCause
    since_seconds: Seconds
    """Cluster time since which it has been in this state."""
    held_until_seconds: Seconds = 0.0
    """Cluster time before which it does not become active again."""
    judgements: Count = 0
    """Judgements in a row that spoke for the other state."""
    targets: Count = 0
    """Predictions of a node that were scored."""
    positives: Count = 0
    """Those followed by a failure within the horizon."""
    left: Count = 0
    """Those of nodes left untouched on purpose, which stand for nodes like them that were acted upon."""
    unseen: Count = 0
    """Predictions left out since nobody looked for a part of their horizon, or the node was acted upon."""
    failing_blocks: Count = 0
    """Blocks of time with a failure."""
    failing_groups: Count = 0
    """Groups of nodes with a failure."""
    expected: Rounded = 0.0
    """Sum of the predicted probabilities, weighted as the figures below are."""
    observed: Rounded = 0.0
    """Weighted failures."""
    brier: Rounded | None = None
    constant_brier: Rounded | None = None
    """Of the best constant: the rate that was seen, known in hindsight."""
    skill: Rounded | None = None
    """1 - brier / constant_brier; None without failures."""
    skill_low: Rounded | None = None
    """Limits of the interval; None while they cannot be told."""
    skill_high: Rounded | None = None
    alarms: Count = 0
    """Predictions at or above the lowest action threshold."""
    hits: Count = 0
    """Alarms followed by a failure."""
    lift: Rounded | None = None
    """Rate of failures after alarms over the rate after all predictions."""
    lift_low: Rounded | None = None
    lift_high: Rounded | None = None
    text: str


class OutcomeModels(EventData):
    """Every risk model judged by what it showed live, and which one drives from the next observation on."""

    TYPE: ClassVar[str] = "foresail.outcome.models.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "models")

    cycle: Cycle
    """Cycle of the observation at which they were judged."""
    cluster_time_seconds: Seconds
    window_seconds: Seconds
    """Cluster time over which predictions were looked at."""
    confidence_ratio: Ratio
    """Confidence of the intervals, two-sided."""
    driving: str
    """Id of the model that drives by its promotion; empty: what the settings name drives."""
    before: str
    """The same before this judgement."""
    models: tuple[ModelEvidence, ...] = Field(default=(), max_length=SHADOW_SLOTS + 1)
    """By slot."""
    text: str

    def line(self) -> str:
        """Return which model drives, and how each one stands."""
        return f"cycle {self.cycle}: {'; '.join(judgement_texts(self))}"


BY_SETTINGS = "what the settings name"


def driving_text(before: str, driving: str) -> str:
    """Return which model drives, and whether that is new."""
    now = driving or BY_SETTINGS
    if before == driving:
        return f"risk is predicted by {now}"
    return f"risk is predicted by {now} from the next observation on, no longer by {before or BY_SETTINGS}"


def judgement_texts(judged: OutcomeModels) -> tuple[str, ...]:
    """Return a line on which model drives, and one for each model that was judged."""
    return (driving_text(judged.before, judged.driving), *(one.text for one in judged.models))
