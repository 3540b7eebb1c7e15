"""Layer 6: breakers, which stop acting by themselves where acting does harm, and let it begin again."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from pydantic import Field

from schemas.model import DataModel, EventData
from schemas.numbers import Count, Cycle, Rounded, Seconds

WHOLE: Final = "all"
"""The unit of the breaker for everything; the others are kinds of action."""
MOST_STANDING: Final = 16


class BreakerState(StrEnum):
    """State of a breaker."""

    CLOSED = "closed"
    """Everything is executed."""
    SHADOW = "shadow"
    """It has tripped: decided and explained, not executed; what gives back is."""
    PROBATION = "probation"
    """One execution at a time is tried; half of what trips a closed breaker trips it."""


class BreakerCause(StrEnum):
    """Why a breaker changed."""

    HARM = "harm"
    """This world lost more than the budget against the untouched one."""
    SWITCHBACK = "switchback"
    """The switchback's whole interval is below 0."""
    WORSE = "worse"
    """Too many executions were verified as worse."""
    REFUSALS = "refusals"
    """Too many decisions were refused."""
    CHURN = "churn"
    """One target was turned to and fro too often."""
    SKILL = "skill"
    """The risk forecast that it is decided by was worse than a constant."""
    WAITED = "waited"
    """It has been in shadow for its time."""
    RECOVERED = "recovered"
    """The probation has passed without harm."""
    RESET = "reset"
    """The operator let it act again."""


class Breaker(DataModel):
    """One breaker that is not closed."""

    unit: str
    """`all`, or a kind of action."""
    state: BreakerState
    cause: BreakerCause
    """Why it tripped last."""
    since_seconds: Seconds
    """Cluster time at which this state began."""
    until_seconds: Seconds
    """Cluster time at which it ends unless something happens."""
    trips: Count
    """How often it has tripped since it was closed; each one doubles the time in shadow."""
    spacing_seconds: Seconds
    """On probation: cluster time between two executions."""


class OutcomeBreaker(EventData):
    """A breaker has changed its state."""

    TYPE: ClassVar[str] = "foresail.outcome.breaker.v1"
    WRITER: ClassVar[str] = "scoreboard"
    PATTERN: ClassVar[tuple[str, ...]] = ("outcome", "breaker")

    cycle: Cycle
    """Cycle of the observation at which it changed."""
    cluster_time_seconds: Seconds
    unit: str
    """`all`, or a kind of action."""
    before: BreakerState
    state: BreakerState
    cause: BreakerCause
    measured: Rounded | None = None
    """What was measured; None where nothing had to be."""
    limit: Rounded | None = None
    measured_unit: str = ""
    """Of `measured` and `limit`, such as `USD` or `share of executions`."""
    executions: Count = 0
    """Executions, or decisions, that were looked at."""
    text: str
    standing: tuple[Breaker, ...] = Field(default=(), max_length=MOST_STANDING)
    """Every breaker that is not closed now, by unit."""

    def key(self) -> str:
        """Return the unit."""
        return self.unit

    def line(self) -> str:
        """Return what changed."""
        return f"cycle {self.cycle}: {self.text}"
