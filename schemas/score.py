"""Layer 6 in one honest unit: what the cluster's work was worth, and what acting changed.

Both come from the scoreboard and are computed from observations alone, never from what was intended.
"""

from __future__ import annotations

from typing import ClassVar

from schemas.model import DataModel, EventData
from schemas.numbers import Cycle, Rounded, Seconds


class ScoreComponent(DataModel):
    """One thing that is counted, in its own unit and in money."""

    name: str
    """Such as `requests_served`, `energy` or, one for each PriorityClass, `waiting/none`."""
    unit: str
    price: Rounded
    """Money for one unit; below 0 it is a cost."""
    step: Rounded
    """Units since the observation before."""
    total: Rounded
    """Units since the score began."""
    total_money: Rounded


class OutcomeScore(EventData):
    """Score of the time up to this observation: benefit minus cost."""

    TYPE: ClassVar[str] = "foresail.outcome.score.v1"
    PRODUCER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "score")

    cycle: Cycle
    """Cycle of the observation that ends the step."""
    cluster_time_seconds: Seconds
    step_seconds: Seconds
    """Cluster time since the observation before."""
    total_seconds: Seconds
    """Cluster time since the score began."""
    currency: str
    components: tuple[ScoreComponent, ...]
    step_money: Rounded
    total_money: Rounded
    step_money_per_hour: Rounded
    """The score of this step."""
    total_money_per_hour: Rounded
    """The score since it began."""
    missing: tuple[str, ...] = ()
    """What this observation does not show: `nodes`, `requests`, `job_cpu`."""


class ComponentDifference(DataModel):
    """Effect of acting of one component: acted minus untouched."""

    name: str
    unit: str
    step: Rounded
    total: Rounded
    total_money: Rounded


class OutcomeCounterfactual(EventData):
    """Effect of acting: this world minus the same world left alone, both up to one cycle."""

    TYPE: ClassVar[str] = "foresail.outcome.counterfactual.v1"
    PRODUCER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "counterfactual")

    cycle: Cycle
    cluster_time_seconds: Seconds
    step_seconds: Seconds
    total_seconds: Seconds
    currency: str
    components: tuple[ComponentDifference, ...]
    step_money: Rounded
    total_money: Rounded
    """Above 0: acting has helped so far."""
    step_money_per_hour: Rounded
    total_money_per_hour: Rounded
    missing: tuple[str, ...] = ()
    """What one of the two observations does not show."""
