"""Roll-ups: what one day of one cluster held, as one event in a log of its own that nothing ages out of.

The log of `<cluster>`'s roll-ups is that of a cluster called `days-<cluster>`; each day has a subject, which holds the
newest sum of that day.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from schemas.model import DataModel, EventData
from schemas.numbers import Count, Rounded, Seconds
from schemas.reasons import Reason

DAYS_PREFIX = "days-"
"""Clusters of roll-ups are called `days-<cluster>`."""
DAYS_INCARNATION = "all"
"""Roll-ups go on over every start of a stack."""

Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


def days_cluster(cluster: str) -> str:
    """Return the name under which a cluster's roll-ups are stored."""
    return f"{DAYS_PREFIX}{cluster}"


class RollupAction(DataModel):
    """One kind of action."""

    label: str
    """Agent and kind, such as `AgentA:replicate`."""
    decided: Count = 0
    carried_out: Count = 0
    failed: Count = 0
    refused: Count = 0
    verified: Count = 0
    worse: Count = 0
    expected_micro: int = 0
    """What the decided actions were expected to gain, in millionths of the currency."""
    expecting: Count = 0


class RollupTouched(DataModel):
    """Objects of one resource that were, or would have been, written to."""

    resource: str
    names: tuple[str, ...] = ()
    """`namespace/name`, those with most writes first; a day's event names 2,000 at most."""
    writes: tuple[Count, ...] = ()
    others: Count = 0
    """Objects that are not named."""
    other_writes: Count = 0


class RollupRefusal(DataModel):
    """Why one kind of action was refused."""

    reason: Reason | Literal["unknown"]
    label: str
    times: Count
    newest: str = ""
    """What the newest refusal for this reason said."""


class RollupRisk(DataModel):
    """How one model's risk did."""

    model_id: str
    targets: Count = 0
    failed: Count = 0
    brier_sum: Rounded = 0.0
    hits: Count = 0
    misses: Count = 0
    false_alarms: Count = 0
    alarms_known: bool = False


class RollupOpen(DataModel):
    """An execution that nothing has verified yet."""

    decision_id: str
    part: Count
    label: str


class RollupDay(EventData):
    """One day of cluster time, in UTC, as `foresail report` counts it."""

    TYPE: ClassVar[str] = "foresail.rollup.day.v1"
    PRODUCER: ClassVar[str] = "rollup"
    PATTERN: ClassVar[tuple[str, ...]] = ("rollup", "day", "*")

    day: Day
    cluster: str
    incarnation: str
    """The start of the stack that was counted last; earlier ones of the same day are in the sums."""
    last_seq: Count
    """Position in that start's log up to which events are counted."""
    first_time_seconds: Seconds
    last_time_seconds: Seconds
    currency: str = ""
    cycles: Count = 0
    wanted: Count = 0
    """Actions decided that were no noop."""
    carried_out: Count = 0
    refused: Count = 0
    sources_lost: Count = 0
    score_sum: Rounded = 0.0
    """Sum of the outcome scores, in the currency an hour."""
    scores: Count = 0
    actions: tuple[RollupAction, ...] = ()
    touched: tuple[RollupTouched, ...] = ()
    refusals: tuple[RollupRefusal, ...] = ()
    risks: tuple[RollupRisk, ...] = ()
    modes: dict[str, Count] = Field(default_factory=dict)
    """How many executions ran in each mode."""
    breaker_trips: dict[str, Count] = Field(default_factory=dict)
    open: tuple[RollupOpen, ...] = ()

    def tokens(self) -> tuple[str, ...]:
        """Return `rollup.day.<date>`."""
        return (*self.PATTERN[:2], self.day)

    def key(self) -> str:
        """Return what was counted: the day, and how far."""
        return f"{self.day}/{self.incarnation}/{self.last_seq}"
